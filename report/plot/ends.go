package plot

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/report/units"
)

// end is where a line ends, and what it is called there.
type end struct {
	text  string
	glyph glyph
	at    xy
	shift vg.Length
}

const (
	endRow  = smallSize + 3 // height of a name
	endLead = vg.Length(16) // from the data to the names
)

// endsWidth is the room that the names take beside data of that size; 0 where there is too
// little: then they stand in the legend.
func endsWidth(ends []end, c draw.Canvas) vg.Length {
	widest, sty := vg.Length(0), typeface(smallSize, ink)
	for _, e := range ends {
		widest = max(widest, sty.Width(units.Clean(e.text)))
	}
	if len(ends) == 0 || widest > c.Size().X*0.3 || vg.Length(len(ends))*endRow > c.Size().Y*0.7 {
		return 0
	}
	return endLead + widest
}

// drawEnds names the lines to the right of the data, each as near to its end as the others
// let it be.
func drawEnds(c draw.Canvas, p *plot.Plot, ends []end) {
	sty := typeface(smallSize, ink)
	tx, ty := p.Transforms(&c)
	ends = slices.Clone(ends)
	slices.SortStableFunc(ends, func(a, b end) int { return int(ty(a.at.y) - ty(b.at.y)) })
	at := make([]vg.Length, len(ends))
	for i, e := range ends { // upwards, none lower than it should be
		at[i] = max(ty(e.at.y), c.Min.Y+endRow/2)
		if i > 0 {
			at[i] = max(at[i], at[i-1]+endRow)
		}
	}
	limit := c.Max.Y - endRow/2
	for i := range slices.Backward(ends) { // and down again from the top
		at[i] = min(at[i], limit)
		limit = at[i] - endRow
	}
	for i, e := range ends {
		thin := stroke(e.glyph.color, 0.7)
		c.StrokeLine2(thin, tx(e.at.x)+e.shift, ty(e.at.y), c.Max.X+endLead-4, at[i])
		c.FillText(sty, vg.Point{X: c.Max.X + endLead, Y: at[i] - smallSize/2 + 1}, units.Clean(e.text))
	}
}
