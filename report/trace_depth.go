package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// DepthPoint says how many items wait in a queue from an instant on.
type DepthPoint struct {
	At     time.Duration
	Queued int // items that were put, or were being put, and not taken
	Due    int // items that were due and not taken: those that the producers were behind with are among them
}

// depth collects how many items wait in a queue, from the operations alone.
type depth struct {
	streams bool         // there is a stream; of a closed loop the depth says nothing
	steps   []DepthPoint // by how much it changes, when
}

func (d *depth) record(r history.Record) {
	if t, ok := r.(*history.Traffic); ok {
		d.streams = d.streams || t.Of == history.OfItem
	}
}

func (d *depth) sample(s *history.Sample) {
	switch {
	case len(d.steps) >= traceLimit:
	case s.Op == history.Put:
		d.steps = append(d.steps, DepthPoint{At: s.Due, Due: 1})
		if s.Outcome != history.Failed {
			d.steps = append(d.steps, DepthPoint{At: s.Call, Queued: 1})
		}
	case s.Op == history.Take && s.Outcome == history.OK:
		d.steps = append(d.steps, DepthPoint{At: s.Return, Queued: -1, Due: -1})
	}
}

// points returns the depth over time; nil where nothing streamed.
func (d *depth) points() []DepthPoint {
	if !d.streams {
		return nil
	}
	slices.SortStableFunc(d.steps, func(a, b DepthPoint) int { return cmp.Compare(a.At, b.At) })
	for i := 1; i < len(d.steps); i++ {
		d.steps[i].Queued += d.steps[i-1].Queued
		d.steps[i].Due += d.steps[i-1].Due
	}
	return d.steps
}
