package plot

// curves are lines against contenders, one a series, with whiskers.
type curves struct {
	f      *Figure
	of     int // series there are, drawn or not
	values []float64
	marks  []func()
	spread bool // some line has two client counts: otherwise there is no trend
}

// add adds a line, under the words in the legend.
func (c *curves) add(words string, l glyph, at []xy, w whiskers) {
	for _, q := range at {
		c.values = append(c.values, q.y)
		c.spread = c.spread || q.x != at[0].x
	}
	c.values = append(append(c.values, w.low...), w.high...)
	c.f.legend = append(c.f.legend, entry{text: words, glyph: l, point: true, line: true})
	shift := beside(len(c.marks), c.of)
	w.color, w.shift = l.color, shift
	c.marks = append(c.marks, func() {
		c.f.body.Add(w, line{at: at, style: stroke(l.color, lineWidth), shift: shift},
			points{at: at, glyph: l, size: glyphSize + 1, shift: shift})
	})
}

// draw draws the axes and the lines; it reports whether there is a trend to be seen.
func (c *curves) draw(counts []int, tick func(float64) string) bool {
	if !c.spread {
		return false
	}
	countAxis(&c.f.body.X, counts)
	logAxis(&c.f.body.Y, c.values, tick)
	c.f.body.Add(gridlines{x: true, y: true})
	for _, add := range c.marks {
		add()
	}
	return true
}
