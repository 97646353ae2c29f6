package plot

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

type band struct {
	from, to float64
	label    string
	proven   bool
}

func bandsOf(faults []report.Fault) []band {
	var out []band
	for _, w := range faults {
		label := w.Fault
		if w.Target != "" {
			label += " " + w.Target
		}
		out = append(out, band{from: seconds(w.Start), to: max(seconds(w.End), seconds(w.Start)),
			label: units.Short(units.Clean(label), 40), proven: w.Proof != ""})
	}
	slices.SortStableFunc(out, func(a, b band) int { return cmp.Compare(a.from, b.from) })
	return out
}

// entries returns the whole legend, including the bands. If named is set, it omits the lines
// that have labels at their ends.
func (f *Figure) entries(named bool) []entry {
	out := slices.DeleteFunc(slices.Clone(f.legend), func(e entry) bool { return named && e.end })
	if slices.ContainsFunc(f.bands, func(b band) bool { return b.proven }) {
		out = append(out, entry{text: "fault active", glyph: glyph{color: proven}, area: true})
	}
	if slices.ContainsFunc(f.bands, func(b band) bool { return !b.proven }) {
		out = append(out, entry{text: "fault without proof of effect", glyph: glyph{color: unclear}, area: true})
	}
	return out
}

// shading renders the bands. It must be added first, so that it is behind everything else.
type shading []band

func (m shading) Plot(c draw.Canvas, p *plot.Plot) {
	tx, _ := p.Transforms(&c)
	for _, b := range m {
		from, to := place(tx, b.from, c), place(tx, b.to, c)
		if to-from < 2 { // keep very short faults visible
			to = from + 2
		}
		fillBox(c, b.color(), from, c.Min.Y, to, c.Max.Y)
	}
}

func (b band) color() color.RGBA {
	if b.proven {
		return proven
	}
	return unclear
}

// place maps x to the canvas, clamped to its edges.
func place(tx func(float64) vg.Length, x float64, c draw.Canvas) vg.Length {
	v := tx(x)
	if math.IsNaN(float64(v)) {
		return c.Min.X
	}
	return min(max(v, c.Min.X), c.Max.X)
}

func fillBox(c draw.Canvas, color color.Color, x0, y0, x1, y1 vg.Length) {
	c.SetColor(color)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

const maxBandRows = 3

// drawBandLabels writes each label above the start of its band, in the lowest row that has
// room. It omits labels without room; the page's table has all of them.
func drawBandLabels(c draw.Canvas, p *plot.Plot, bands []band, rows int) {
	sty := typeface(smallSize-1, faint)
	tx, _ := p.Transforms(&c)
	busy := make([]vg.Length, rows)
	for i := range busy {
		busy[i] = vg.Length(math.Inf(-1))
	}
	for _, b := range bands {
		w := sty.Width(b.label)
		x := min(place(tx, b.from, c), c.Max.X-w)
		for row := range busy {
			if x < busy[row]+8 || x < c.Min.X {
				continue
			}
			y := c.Max.Y + 4 + vg.Length(row)*(smallSize+4)
			c.FillText(sty, vg.Point{X: x, Y: y}, b.label)
			busy[row] = x + w
			break
		}
	}
}
