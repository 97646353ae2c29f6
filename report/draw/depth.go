package draw

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/plot"
)

// depth collects how many items wait in a queue, from the operations alone.
type depth struct {
	streams bool // there is a stream; of a closed loop the depth says nothing
	steps   []step
}

// step is by how much something changes at an instant.
type step struct {
	at          time.Duration
	queued, due int
}

func (d *depth) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Traffic:
		d.streams = d.streams || r.Of == history.OfItem
	case *history.Sample:
		d.sample(r)
	}
}

func (d *depth) sample(s *history.Sample) {
	switch {
	case len(d.steps) >= traceLimit:
	case s.Op == history.Put:
		d.steps = append(d.steps, step{at: s.Due, due: 1})
		if s.Outcome != history.Failed {
			d.steps = append(d.steps, step{at: s.Call, queued: 1})
		}
	case s.Op == history.Take && s.Outcome == history.OK:
		d.steps = append(d.steps, step{at: s.Return, queued: -1, due: -1})
	}
}

// queueDepth is how many items wait over time; empty where nothing streamed.
func (tr *trace) queueDepth() plot.Depth {
	d := plot.Depth{Trial: tr.Trial, Label: tr.Label, Clients: tr.Clients, Windows: tr.Windows}
	if !tr.depth.streams {
		return d
	}
	steps := slices.Clone(tr.depth.steps)
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var now plot.DepthPoint
	for _, s := range steps {
		now = plot.DepthPoint{At: s.at, Queued: now.Queued + s.queued, Due: now.Due + s.due}
		d.Points = append(d.Points, now)
	}
	return d
}
