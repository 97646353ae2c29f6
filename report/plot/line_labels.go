package plot

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/report/units"
)

// lineLabel is the label of a line, and the point at which the line ends.
type lineLabel struct {
	text  string
	glyph glyph
	at    xy
	shift vg.Length
}

const (
	lineLabelRow = smallSize + 3 // height of a label
	lineLabelGap = vg.Length(16) // distance from the data to the labels
)

// lineLabelsWidth returns the width of the labels next to the data. It returns 0 if there is too
// little room; the names are then in the legend.
func lineLabelsWidth(ends []lineLabel, c draw.Canvas) vg.Length {
	widest, sty := vg.Length(0), typeface(smallSize, ink)
	for _, e := range ends {
		widest = max(widest, sty.Width(units.Clean(e.text)))
	}
	if len(ends) == 0 || widest > c.Size().X*0.3 || vg.Length(len(ends))*lineLabelRow > c.Size().Y*0.7 {
		return 0
	}
	return lineLabelGap + widest
}

// drawLineLabels labels the lines to the right of the data, each label as close to the end of its line
// as the other labels allow.
func drawLineLabels(c draw.Canvas, p *plot.Plot, ends []lineLabel) {
	sty := typeface(smallSize, ink)
	tx, ty := p.Transforms(&c)
	ends = slices.Clone(ends)
	slices.SortStableFunc(ends, func(a, b lineLabel) int { return int(ty(a.at.y) - ty(b.at.y)) })
	at := make([]vg.Length, len(ends))
	for i, e := range ends { // upward, so that labels do not overlap
		at[i] = max(ty(e.at.y), c.Min.Y+lineLabelRow/2)
		if i > 0 {
			at[i] = max(at[i], at[i-1]+lineLabelRow)
		}
	}
	limit := c.Max.Y - lineLabelRow/2
	for i := range slices.Backward(ends) { // downward, so that none is above the canvas
		at[i] = min(at[i], limit)
		limit = at[i] - lineLabelRow
	}
	for i, e := range ends {
		thin := stroke(e.glyph.color, 0.7)
		c.StrokeLine2(thin, tx(e.at.x)+e.shift, ty(e.at.y), c.Max.X+lineLabelGap-4, at[i])
		c.FillText(sty, vg.Point{X: c.Max.X + lineLabelGap, Y: at[i] - smallSize/2 + 1}, units.Clean(e.text))
	}
}
