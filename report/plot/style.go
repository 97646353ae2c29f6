package plot

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Every color is opaque, because gonum writes transparent colors as invalid SVG. The page
// replaces them by value for dark mode, so that each role needs a distinct value.
var (
	paper   = color.RGBA{0xff, 0xff, 0xff, 0xff}
	ink     = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	faint   = color.RGBA{0x59, 0x63, 0x6e, 0xff}
	grid    = color.RGBA{0xe4, 0xe7, 0xeb, 0xff}
	proven  = color.RGBA{0xfb, 0xe6, 0xc8, 0xff} // an active fault
	unclear = color.RGBA{0xe9, 0xe4, 0xf2, 0xff} // a fault without proof
	alarm   = color.RGBA{0xc8, 0x10, 0x2e, 0xff} // two holders at the same time
	warned  = color.RGBA{0xe6, 0x9f, 0x01, 0xff} // two holders, inherent in leases
)

// Okabe and Ito's palette for color-blind readers, darkest first, without yellow, which is
// unreadable on white.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermillion
	{0x00, 0x9e, 0x73, 0xff}, // green
	{0xcc, 0x79, 0xa7, 0xff}, // purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky
	{0x33, 0x3a, 0x42, 0xff}, // near black
}

// Dark maps each color of a plot, as in its SVG, to the color for dark mode. The style sheet of
// the page is generated from it.
var Dark = map[string]string{
	hex(paper): "#0d1117", hex(ink): "#e6edf3", hex(faint): "#9aa4af", hex(grid): "#2b323b",
	hex(proven): "#4a3a1f", hex(unclear): "#383050", hex(alarm): "#ff5c6c", hex(warned): "#ffb52e",
	hex(palette[0]): "#4aa8e8", hex(palette[1]): "#ff8a3d", hex(palette[2]): "#2fc79b",
	hex(palette[3]): "#e29bc6", hex(palette[4]): "#f5b83d", hex(palette[5]): "#8fd0f5",
	hex(palette[6]): "#c9d1d9", hex(expected): "#1c3550",
}

type glyph struct {
	color color.RGBA
	shape shape
}

// Glyphs maps each label to its glyph, which is the same in all plots.
type Glyphs map[string]glyph

// NewGlyphs assigns glyphs to labels in their order. Colors and shapes repeat with different
// periods, so that their pairs repeat only after 35 series.
func NewGlyphs(labels []string) Glyphs {
	l := Glyphs{}
	for _, label := range labels {
		if _, known := l[label]; !known {
			n := len(l)
			l[label] = glyph{color: palette[n%len(palette)], shape: shape(n % int(shapes))}
		}
	}
	return l
}

// of returns the glyph of a label, or the first glyph if the label has none.
func (l Glyphs) of(label string) glyph {
	if v, ok := l[label]; ok {
		return v
	}
	return glyph{color: palette[0]}
}

// Sizes in points. A plot is 640 points wide, so that one point is about one pixel of a page
// with two plots next to each other.
const (
	width      = vg.Length(640)
	height     = vg.Length(370)
	margin     = vg.Length(14)
	titleSize  = vg.Length(15)
	textSize   = vg.Length(13)
	smallSize  = vg.Length(12)
	glyphSize  = vg.Length(4)
	lineWidth  = vg.Length(1.6)
	resolution = 144 // dots per inch of a PNG: 1280 pixels wide
)

func typeface(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		XAlign: draw.XLeft, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler,
	}
}

func stroke(c color.Color, w vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w}
}

func dashed(c color.Color, w vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w, Dashes: []vg.Length{5, 4}}
}

func hex(c color.RGBA) string {
	return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
}

// data contains the numbers of a figure: the columns after the name of the series, and the
// points of each series.
type data struct {
	x, y   string // heads of the columns, with their units
	series []series
}

type series struct {
	name string
	at   []xy
}

func (d *data) add(name string, at []xy) {
	if len(at) > 0 {
		d.series = append(d.series, series{name, at})
	}
}

// CSV returns the figure's numbers: a line per point, with its series, x and y. The column heads
// include the units.
func (f *Figure) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	_ = w.Write([]string{"series", f.data.x, f.data.y}) // Error returns the first error
	for _, s := range f.data.series {
		for _, q := range s.at {
			_ = w.Write([]string{s.name, number(q.x), number(q.y)})
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
