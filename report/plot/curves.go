package plot

import (
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/zkbench/zkbench/report/matrix"
)

// curve is one series of a figure: points, a line, and whiskers. All are optional.
type curve struct {
	words string // in the legend
	glyph glyph
	at    []xy // the points
	line  []xy // joins the points or, dashed, is their formula
	dash  bool
	size  vg.Length // of the points
	whiskers
}

// curves are the series of a figure with a logarithmic y axis.
type curves struct {
	f      *Figure
	of     int // series there are, drawn or not; 0 where they need not stand beside each other
	values []float64
	drawn  int
	spread bool // some line has two places on the x axis: otherwise there is no trend
}

func newCurves(f *Figure, of int) *curves {
	f.body.Add(gridlines{x: true, y: true})
	return &curves{f: f, of: of}
}

func (c *curves) add(s curve) {
	for _, q := range slices.Concat(s.at, s.line) {
		c.values = append(c.values, q.y)
		c.spread = c.spread || q.x != s.at[0].x
	}
	c.values = slices.Concat(c.values, s.low, s.high)
	c.f.legend = append(c.f.legend, entry{text: s.words, glyph: s.glyph, point: true, line: !s.dash})
	style := stroke(s.glyph.color, lineWidth)
	if s.dash {
		style = dashed(s.glyph.color, lineWidth)
	}
	shift := beside(c.drawn, c.of)
	s.color, s.shift = s.glyph.color, shift
	c.f.body.Add(s.whiskers, line{at: s.line, style: style, shift: shift}, points{at: s.at, glyph: s.glyph, size: s.size, shift: shift})
	c.drawn++
}

// none says in the legend that a series was 0 everywhere: it has no place on a log axis.
func (c *curves) none(label string, g glyph) {
	c.f.legend = append(c.f.legend, entry{text: label + ": none at all", glyph: g, point: true})
}

// scales sets the axes: contenders, and what the series reach.
func (c *curves) scales(counts []int, tick func(float64) string) {
	countAxis(&c.f.body.X, counts)
	logAxis(&c.f.body.Y, c.values, tick)
}

// beside moves the nth of several series sideways by some points, so that equal
// values do not hide each other.
func beside(n, of int) vg.Length {
	if of == 0 || of > 7 {
		return 0
	}
	return (vg.Length(n) - vg.Length(of-1)/2) * 7
}

// medians says so where the scenario has trials that stand for several.
func medians(s matrix.Scenario) string {
	for _, x := range s.Series {
		for _, t := range x.Trials {
			if t.Merged > 0 {
				return " Where a cell was repeated, it is the median of its trials, as in the tables."
			}
		}
	}
	return ""
}
