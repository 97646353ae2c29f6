// Package plot creates the figures of a report: notifications per hand-off with their formula,
// latency by contenders, by percentile and over time. It returns figures as SVG, PNG and CSV, and
// reads no files. The output is deterministic. A function that plots returns nil if there is nothing to
// plot.
package plot

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"image/png"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/report/units"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

type Figure struct {
	Name  string // file name without extension, unique in a run: "fanout"
	Title string
	About string // caption: the content of the figure, and how to read it
	Trial string // name of the trial it shows; empty if it shows several
	// Answer is set if the figure answers the scenario's question, although it shows one trial.
	Answer bool
	// Clients is the number of contenders; 0 if the figure shows several.
	Clients int

	body   *plot.Plot
	yTitle string // above the y axis, because rotated text is hard to read
	legend []legendEntry
	bands  []band
	height vg.Length
	data   data

	svg func() ([]byte, error) // renders the figure once
}

func newFigure(name, title, about string) *Figure {
	p := plot.New()
	p.BackgroundColor = nil
	p.Legend = plot.NewLegend()
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle = stroke(faint, 0.8)
		a.Padding = 6
		a.Tick.LineStyle = stroke(faint, 0.8)
		a.Tick.Length = 5
		a.Tick.Label.Font = typeface(smallSize, ink).Font
		a.Tick.Label.Color = ink
		a.Label.TextStyle.Font = typeface(textSize, ink).Font
		a.Label.TextStyle.Color = ink
		a.Label.Padding = 4
	}
	f := &Figure{Name: units.Identifier(name), Title: title, About: about, body: p, height: height}
	f.svg = sync.OnceValues(f.renderSVG)
	return f
}

// draw lays the figure out from the top: title, legend, fault labels, data. The legend never covers data.
func (f *Figure) draw(c draw.Canvas) {
	c = draw.Crop(c, margin, -margin-8, margin, -margin)
	title := typeface(titleSize, ink)
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y - titleSize}, truncateTo(title, units.Clean(f.Title), c.Size().X))
	c.Max.Y -= titleSize + 12
	c.Max.Y -= drawLegend(c, f.legendEntries()) + 6
	yTitle := typeface(smallSize, faint)
	c.FillText(yTitle, vg.Point{X: c.Min.X, Y: c.Max.Y - smallSize}, f.yTitle)
	c.Max.Y -= smallSize + 8
	rows := min(len(f.bands), maxBandRows)
	data := draw.Crop(c, 0, 0, 0, -vg.Length(rows)*(smallSize+4))
	f.body.Draw(data)
	drawBandLabels(f.body.DataCanvas(data), f.body, f.bands, rows)
}

// SVG returns the figure as a standalone SVG document, and renders it once. The document has
// presentation attributes instead of style attributes, which a strict content security policy
// refuses and a style sheet cannot override.
func (f *Figure) SVG() ([]byte, error) { return f.svg() }

func (f *Figure) renderSVG() ([]byte, error) {
	c := vgsvg.New(width, f.height)
	sheet := draw.New(c)
	sheet.SetColor(paper)
	sheet.Fill(sheet.Path())
	if err := f.render(sheet); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("plot %s: writing SVG: %w", f.Name, err)
	}
	return setTextLengths(rewriteStyles(b.Bytes(), units.Clean(f.Title))), nil
}

// PNG returns the figure as a picture 1280 pixels wide.
func (f *Figure) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(width, f.height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(paper))
	if err := f.render(draw.New(c)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	// Better compression took half of the time of a whole report.
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := fast.Encode(&b, c.Image()); err != nil {
		return nil, fmt.Errorf("plot %s: writing PNG: %w", f.Name, err)
	}
	return b.Bytes(), nil
}

// render turns a panic of the plotting library into an error, so that one plot cannot fail the whole report.
func (f *Figure) render(c draw.Canvas) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("plot %s: the plotting library panicked: %v", f.Name, p)
		}
	}()
	f.draw(c)
	return nil
}

var (
	styleAttr = regexp.MustCompile(`\s*style="([^"]*)"`)
	svgStart  = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*"(.*?)>\n`)
)

// rewriteStyles writes fill="#AAA" for style="fill:#AAA", and adds fallback fonts and a label for screen readers.
func rewriteStyles(svg []byte, title string) []byte {
	svg = styleAttr.ReplaceAllFunc(svg, func(m []byte) []byte {
		var out strings.Builder
		for _, part := range strings.Split(string(styleAttr.FindSubmatch(m)[1]), ";") {
			name, value, ok := strings.Cut(part, ":")
			if !ok || name == "font-variant" || value == "normal" || value == "1" && strings.HasSuffix(name, "opacity") {
				continue
			}
			if name == "font-family" {
				value += ", Arial, Helvetica, sans-serif"
			}
			fmt.Fprintf(&out, ` %s="%s"`, name, value)
		}
		return []byte(out.String())
	})
	label := html.EscapeString(title)
	head := svgStart.FindSubmatch(svg)
	if head == nil {
		return svg
	}
	open := fmt.Sprintf("<svg role=\"img\" aria-label=\"%s\"%s>\n<title>%s</title>\n", label, head[1], label)
	return append([]byte(open), svg[len(head[0]):]...)
}

var textElement = regexp.MustCompile(`<text ([^>]*font-size="([\d.]+)px"[^>]*)>([^<]+)</text>`)

// setTextLengths sets the length of each text, so that a browser without this font squeezes a wider
// font into the available space instead of overlapping other elements.
func setTextLengths(svg []byte) []byte {
	return textElement.ReplaceAllFunc(svg, func(m []byte) []byte {
		part := textElement.FindSubmatch(m)
		size, err := strconv.ParseFloat(string(part[2]), 64)
		if err != nil {
			return m
		}
		long := typeface(vg.Length(size), ink).Width(html.UnescapeString(string(part[3])))
		return fmt.Appendf(nil, `<text %s textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text>`, part[1], formatFixed(long.Points(), 1), part[3])
	})
}

// Rename adds a prefix to the name, for runs of several scenarios.
func (f *Figure) Rename(prefix string) { f.Name = units.Identifier(prefix + "-" + f.Name) }

func (f *Figure) legendEntries() []legendEntry {
	out := slices.Clone(f.legend)
	if slices.ContainsFunc(f.bands, func(b band) bool { return b.proven }) {
		out = append(out, legendEntry{text: "fault active", glyph: glyph{color: faultColor}, area: true})
	}
	if slices.ContainsFunc(f.bands, func(b band) bool { return !b.proven }) {
		out = append(out, legendEntry{text: "fault without proof of effect", glyph: glyph{color: unprovenColor}, area: true})
	}
	return out
}

type legendEntry struct {
	text  string
	glyph glyph
	point bool // a glyph
	line  bool // a line, dashed or not
	dash  bool
	area  bool // a filled box in the glyph's color
}

const (
	sampleWidth = vg.Length(26)
	entryGap    = vg.Length(20)
	entryHeight = vg.Length(19)
)

func drawLegend(c draw.Canvas, entries []legendEntry) vg.Length {
	if len(entries) == 0 {
		return 0
	}
	sty := typeface(textSize, ink)
	x, y := c.Min.X, c.Max.Y-entryHeight
	for _, e := range entries {
		label := truncateTo(sty, units.Clean(e.text), c.Size().X-sampleWidth-8)
		w := sampleWidth + 8 + sty.Width(label)
		if x > c.Min.X && x+w > c.Max.X {
			x, y = c.Min.X, y-entryHeight
		}
		drawSample(c, e, x, y+entryHeight/2)
		c.FillText(sty, vg.Point{X: x + sampleWidth + 8, Y: y + 3}, label)
		x += w + entryGap
	}
	return c.Max.Y - y
}

func drawSample(c draw.Canvas, e legendEntry, x, y vg.Length) {
	if e.area {
		fillBox(c, e.glyph.color, x, y-5, x+sampleWidth, y+5)
	}
	if e.line {
		sty := stroke(e.glyph.color, lineWidth)
		if e.dash {
			sty = dashed(e.glyph.color, lineWidth)
		}
		c.StrokeLine2(sty, x, y, x+sampleWidth, y)
	}
	if e.point {
		c.SetColor(e.glyph.color)
		c.Fill(e.glyph.shape.path(nil, vg.Point{X: x + sampleWidth/2, Y: y}, glyphSize+0.5))
	}
}

func truncateTo(sty text.Style, s string, limit vg.Length) string {
	for n := len([]rune(s)); n > 1 && sty.Width(s) > limit; n-- {
		s = units.Truncate(s, n-1)
	}
	return s
}

// data contains a figure's numbers: the heads after the name of the series, and the points of each series.
type data struct {
	x, y   string // column headers, with units
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

// CSV returns the figure's numbers, a line per point: its series, x and y. The heads include the units.
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
