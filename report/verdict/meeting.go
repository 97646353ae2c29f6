package verdict

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// barrierProgress checks progress at a barrier: without a fault, all clients may wait in enter, or one client in
// leave while no client is inside, for no longer than the limit. A nil barrierProgress, for other recipes,
// finds nothing.
type barrierProgress struct {
	parties        int
	limit          time.Duration
	enters, leaves []wait // longer than the limit
	inside         facts.Spans
}

func (m *barrierProgress) add(w wait) {
	switch {
	case m == nil || m.limit == 0 || w.to-w.from <= m.limit:
	case w.op == history.Acquire:
		m.enters = append(m.enters, w)
	case w.op == history.Release:
		m.leaves = append(m.leaves, w)
	}
}

func (m *barrierProgress) belief(b facts.Belief) {
	if m != nil {
		m.inside = append(m.inside, facts.Span{From: b.Start, To: b.End})
	}
}

func (m *barrierProgress) check(faults facts.Spans, slow *evidence) {
	if m == nil {
		return
	}
	for _, w := range m.enters {
		all := []facts.Span{{From: w.from, To: w.to}} // in which all other clients wait too
		for client := range m.parties {
			if client == w.client {
				continue
			}
			var both []facts.Span
			for _, o := range m.enters {
				for _, s := range all {
					if from, to := max(s.From, o.from), min(s.To, o.to); o.client == client && to-from > m.limit {
						both = append(both, facts.Span{From: from, To: to})
					}
				}
			}
			all = both
		}
		for _, s := range all {
			if free, long := faults.FindGap(s.From, s.To, m.limit); long {
				slow.Add([]int{w.record}, "all %d clients waited to enter from %v to %v (record %d), without a fault: more than the limit of %v",
					m.parties, free.From, free.To, w.record, m.limit)
				return // the same for every client
			}
		}
	}
	busy := facts.Union(slices.Concat(m.inside, faults))
	for _, w := range m.leaves {
		if free, long := busy.FindGap(w.from, w.to, m.limit); long {
			slow.Add([]int{w.record}, "client %d waited to leave from %v to %v (record %d), although no client was inside, and without a fault: more than the limit of %v",
				w.client, free.From, free.To, w.record, m.limit)
		}
	}
}
