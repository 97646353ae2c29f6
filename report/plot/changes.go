package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/report/units"
)

// Change is a row of the plot of changes: a factor with its confidence interval.
type Change struct {
	Label  string
	Factor float64
	Low    float64 // 0 if there is no interval
	High   float64
	Alarm  bool // worse
	Faint  bool // not decisive, or unknown
	// Noise is the factor of the base compared with itself; 0 if it was not measured.
	Noise float64
}

const changeRows = 40

// Changes plots factors around 1, with a dashed line at limit, if it is not 0. It returns nil if
// there are no rows.
func Changes(title, about string, rows []Change, limit float64) *Figure {
	if len(rows) == 0 {
		return nil
	}
	axis := "change"
	if len(rows) > changeRows {
		axis += fmt.Sprintf(" (the first %d of %d rows)", changeRows, len(rows))
		about += " Rows that became worse come first; rows without a change are the first to be omitted."
		rows = worstFirst(rows)[:changeRows]
	}
	f := newFigure("changes", title, about)
	f.height = 190 + vg.Length(len(rows))*26
	low, high := 0.95, 1.05
	for _, v := range changeValues(rows, limit) {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	pad := (high - low) * 0.05
	f.body.X.Min, f.body.X.Max = low-pad, high+pad
	f.body.X.Tick.Marker = changeTicks(f.body.X.Min, f.body.X.Max)
	f.body.X.Label.Text = axis
	f.body.Y.Min, f.body.Y.Max = -float64(len(rows))+0.4, 0.6
	var names ticks
	sty := typeface(smallSize, ink)
	for i, r := range rows {
		names = append(names, plot.Tick{Value: -float64(i), Label: fit(sty, units.Clean(r.Label), width*0.45)})
	}
	f.body.Y.Tick.Marker = names
	f.body.Add(gridlines{x: true}, changeMarks{rows: rows, limit: limit})
	f.legend = changeLegend(rows, limit)
	f.data.x, f.data.y = "factor", "95 % interval"
	for _, r := range rows {
		f.data.add(r.Label, []xy{{r.Factor, r.Low}, {r.Factor, r.High}})
	}
	return f
}

// worstFirst puts worse rows first, then decisive rows that differ, and rows without a change last.
func worstFirst(rows []Change) []Change {
	rank := func(r Change) int {
		switch {
		case r.Alarm:
			return 0
		case r.Factor == 1:
			return 3
		case r.Faint:
			return 2
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(rows), func(a, b Change) int { return cmp.Compare(rank(a), rank(b)) })
}

// factorLimit is the largest factor on the axis, so that an outlier does not compress the rest.
const factorLimit = 4

func changeValues(rows []Change, limit float64) []float64 {
	out := []float64{1}
	if limit > 0 {
		out = append(out, limit)
	}
	for _, r := range rows {
		for _, v := range []float64{r.Factor, r.Low, r.High, r.Noise} {
			if v > 0 && !math.IsInf(v, 0) {
				out = append(out, math.Min(v, factorLimit))
			}
		}
	}
	return out
}

func changeTicks(low, high float64) ticks {
	step := niceStep((high - low) / 8)
	out := linearTicks(low-1, high-1, step, func(v float64) string {
		label := formatStep(v*100, step*100) + " %"
		if v > 0 {
			label = "+" + label
		}
		return label
	})
	for i := range out {
		out[i].Value++
	}
	return out
}

func changeLegend(rows []Change, limit float64) []entry {
	out := []entry{{text: "change, with its 95 % confidence interval", glyph: glyph{palette[0], circle}, point: true, line: true}}
	if slices.ContainsFunc(rows, func(r Change) bool { return r.Alarm }) {
		out = append(out, entry{text: "worse", glyph: glyph{alarm, circle}, point: true, line: true})
	}
	if slices.ContainsFunc(rows, func(r Change) bool { return r.Faint && !r.Alarm }) {
		out = append(out, entry{text: "unknown, or not decisive", glyph: glyph{faint, circle}, point: true, line: true})
	}
	if slices.ContainsFunc(rows, func(r Change) bool { return r.Noise > 0 }) {
		out = append(out, entry{text: "base compared with itself", glyph: glyph{palette[4], diamond}, point: true})
	}
	if limit > 0 {
		out = append(out, entry{text: "limit", glyph: glyph{color: ink}, line: true, dash: true})
	}
	return out
}

type changeMarks struct {
	rows  []Change
	limit float64
}

func (m changeMarks) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	vertical := func(v float64, s draw.LineStyle) { c.StrokeLine2(s, tx(v), c.Min.Y, tx(v), c.Max.Y) }
	vertical(1, stroke(faint, 1))
	if m.limit > 0 {
		vertical(m.limit, dashed(ink, 1))
	}
	at := func(v float64) vg.Length { return tx(math.Min(v, p.X.Max)) }
	for i, r := range m.rows {
		y := ty(-float64(i))
		var col color.Color = palette[0]
		switch {
		case r.Alarm:
			col = alarm
		case r.Faint:
			col = faint
		}
		if r.Noise > 0 && r.Noise <= p.X.Max {
			c.SetColor(palette[4])
			c.Fill(diamond.path(nil, vg.Point{X: tx(r.Noise), Y: y - 6}, 3))
		}
		if r.Low > 0 {
			s := stroke(col, lineWidth)
			c.StrokeLine2(s, at(r.Low), y, at(r.High), y)
			c.StrokeLine2(s, at(r.Low), y-4, at(r.Low), y+4)
			c.StrokeLine2(s, at(r.High), y-4, at(r.High), y+4)
		}
		c.SetColor(col)
		c.Fill(circle.path(nil, vg.Point{X: at(r.Factor), Y: y}, glyphSize))
	}
}
