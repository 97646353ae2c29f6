package plot

import (
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/report/units"
)

// entry is an item of a legend: a sample of the mark, and its meaning.
type entry struct {
	text  string
	glyph glyph
	point bool // a glyph
	line  bool // a line, dashed or not
	dash  bool
	area  bool // a filled box in the glyph's color
	end   bool // a label at the end of its line may replace it
}

const (
	sampleWidth = vg.Length(26)
	entryGap    = vg.Length(20)
	entryHeight = vg.Length(19)
)

// drawLegend renders the entries in rows at the top of the canvas, and returns their height.
func drawLegend(c draw.Canvas, entries []entry) vg.Length {
	if len(entries) == 0 {
		return 0
	}
	sty := typeface(textSize, ink)
	x, y := c.Min.X, c.Max.Y-entryHeight
	for _, e := range entries {
		label := fit(sty, units.Clean(e.text), c.Size().X-sampleWidth-8)
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

func drawSample(c draw.Canvas, e entry, x, y vg.Length) {
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

// fit truncates text so that it is no wider than limit.
func fit(sty text.Style, s string, limit vg.Length) string {
	for n := len([]rune(s)); n > 1 && sty.Width(s) > limit; n-- {
		s = units.Short(s, n-1)
	}
	return s
}
