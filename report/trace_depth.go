package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// DepthPoint is the number of waiting items from an instant on.
type DepthPoint struct {
	At     time.Duration
	Queued int // items that were put, or were being put, and not taken
	Due    int // items that were due and not taken, including items that producers have not put yet
}

// depth computes the number of waiting items from the operations alone.
type depth struct {
	streams bool         // there is a stream; in a closed loop the depth has no meaning
	steps   []DepthPoint // changes of the depth
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

// points returns the depth over time, or nil if there was no stream.
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
