package plot

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/zkbench/zkbench/report/matrix"
)

type curve struct {
	label string // of the series
	words string // text in the legend; empty: the label
	glyph glyph
	at    []xy // the points
	all   []xy // all data, if at contains only a part of it
	line  []xy // through the points or, dashed, the formula
	dash  bool
	size  vg.Length // of the points
	whiskers
}

type curves struct {
	f      *Figure
	count  int // number of series that are shifted next to each other; 0: not shifted
	values []float64
	drawn  int
	spread bool // at least one line has two different x: otherwise there is no trend
}

func newCurves(f *Figure, count int, y string) *curves {
	f.data.x, f.data.y = "contenders", y
	f.body.Add(gridlines{x: true, y: true})
	return &curves{f: f, count: count}
}

func (c *curves) add(s curve) {
	for _, q := range slices.Concat(s.at, s.line) {
		c.values = append(c.values, q.y)
		c.spread = c.spread || q.x != s.at[0].x
	}
	c.values = slices.Concat(c.values, s.low, s.high)
	c.f.legend = append(c.f.legend, entry{text: cmp.Or(s.words, s.label), glyph: s.glyph, point: true, line: !s.dash, end: true})
	c.keep(s)
	style := stroke(s.glyph.color, lineWidth)
	if s.dash {
		style = dashed(s.glyph.color, lineWidth)
	}
	shift := seriesShift(c.drawn, c.count)
	s.color, s.shift = s.glyph.color, shift
	c.f.body.Add(s.whiskers, line{at: s.line, style: style, shift: shift}, points{at: s.at, glyph: s.glyph, size: s.size, shift: shift})
	if last := s.last(); len(last) > 0 {
		c.f.lineLabels = append(c.f.lineLabels, lineLabel{text: s.label, glyph: s.glyph, at: last[0], shift: shift})
	}
	c.drawn++
}

func (s curve) last() []xy {
	if len(s.line) > 0 && !s.dash {
		return s.line[len(s.line)-1:]
	}
	return s.at[max(0, len(s.at)-1):]
}

func (c *curves) keep(s curve) {
	all := s.at
	if len(s.all) > 0 {
		all = s.all
	}
	c.f.data.add(s.label, all)
	if s.dash {
		c.f.data.add(s.label+" (formula)", s.line)
	}
	for _, w := range []struct {
		name string
		y    []float64
	}{{s.lowest, s.low}, {s.highest, s.high}} {
		if w.name != "" {
			c.f.data.add(s.label+" ("+w.name+")", zip(s.whiskers.x, w.y))
		}
	}
}

func zip(x, y []float64) (out []xy) {
	for i := range x {
		out = append(out, xy{x[i], y[i]})
	}
	return out
}

// addZero adds a legend entry for a series whose values are all 0, which a log axis cannot show.
func (c *curves) addZero(label string, g glyph) {
	c.f.legend = append(c.f.legend, entry{text: label + ": always 0", glyph: g, point: true})
}

// scales sets the axes: the scenario's numbers of clients, and the values of the series.
func (c *curves) scales(s matrix.Scenario, tick func(float64) string) {
	c.f.data.x = s.Noun() + "s"
	countAxis(&c.f.body.X, s.Counts)
	c.f.body.X.Label.Text = c.f.data.x + " (log scale)"
	logAxis(&c.f.body.Y, c.values, tick)
}

// seriesShift returns the horizontal shift of the nth of several series, so that equal values do not
// hide each other.
func seriesShift(n, of int) vg.Length {
	if of == 0 || of > 7 {
		return 0
	}
	return (vg.Length(n) - vg.Length(of-1)/2) * 7
}

// mergedNote returns a note if the scenario has merged trials.
func mergedNote(s matrix.Scenario) string {
	for _, x := range s.Series {
		for _, t := range x.Trials {
			if t.Merged > 0 {
				return " Repeated cells show the median of their trials, as in the tables."
			}
		}
	}
	return ""
}
