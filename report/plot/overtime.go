package plot

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/zkbench/zkbench/report/units"
)

// overTimePoints is the largest number of glyphs in one plot over time: more are not
// distinguishable, and make the page slow.
const overTimePoints = 900

// OverTime plots the latency of each hand-off (of a queue: each delivery) at the time it ended,
// with shaded fault windows. It returns nil if the trial has none.
func OverTime(t Timeline, glyphs Glyphs) *Figure {
	noun, latency, each := "hand-off", "hand-off latency", "Each point is a hand-off, at the time at which it ended."
	if t.Queue {
		noun, latency = "item", "delivery latency"
		each = "Each point is an item, at the time at which it was taken; its latency counts from when it was due."
	}
	var plain, failover []xy
	var values []float64
	for _, h := range t.Handoffs {
		if h.Latency <= 0 {
			continue
		}
		q := xy{seconds(h.At), float64(h.Latency)}
		values = append(values, q.y)
		if h.Failover {
			failover = append(failover, q)
		} else {
			plain = append(plain, q)
		}
	}
	if len(values) == 0 {
		return nil
	}
	from, to := extent(t)
	pad := (to - from) * 0.012 // so that the first and last points do not touch the edges
	f := t.overTime("latency", units.Capital(latency), each, from-pad, to+pad)
	if t.Partial != "" {
		f.About += " The history is incomplete: " + units.Clean(t.Partial) + "."
	}
	logAxis(&f.body.Y, values, units.Tick)
	f.yTitle = latency + " (log scale)"
	f.data.y = latency + ", ns"
	f.addPoints(noun, plain, glyph{glyphs.of(t.Label).color, circle}, 2.4)
	f.addPoints("failover (a fault caused it)", failover, glyph{ink, triangle}, glyphSize)
	return f
}

func (f *Figure) addPoints(text string, pts []xy, l glyph, size vg.Length) {
	if len(pts) == 0 {
		return
	}
	slices.SortStableFunc(pts, func(a, b xy) int { return cmp.Compare(a.x, b.x) })
	shown := thin(pts, overTimePoints)
	f.data.add(text, pts)
	text += fmt.Sprintf(" (%s", units.Number(float64(len(pts))))
	if len(shown) < len(pts) {
		text += fmt.Sprintf(", %s shown, including every extreme", units.Number(float64(len(shown))))
	}
	f.legend = append(f.legend, entry{text: text + ")", glyph: l, point: true})
	f.body.Add(points{at: shown, glyph: l, size: size})
}

// extent returns the range of a timeline with hand-offs, in seconds.
func extent(t Timeline) (from, to float64) {
	var at []float64
	for _, h := range t.Handoffs {
		at = append(at, seconds(h.At))
	}
	for _, b := range t.Holds {
		at = append(at, seconds(b.Start), seconds(b.End))
	}
	for _, w := range t.Faults {
		at = append(at, seconds(w.Start), seconds(max(w.Start, w.End)))
	}
	return slices.Min(at), slices.Max(at)
}
