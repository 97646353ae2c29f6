package draw

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/plot"
)

// paces counts grants and items taken over time, in the phases in which the clients
// set the pace: the same that count for the throughput.
type paces struct {
	phases []history.Phase
	done   [][]int // of each phase, in slices of plot.PaceWidth from its start
	queue  bool    // there are items
}

func newPaces(h *history.History) paces {
	phases := slices.DeleteFunc(slices.Clone(h.Phases), func(p history.Phase) bool { return p.Pace == history.ByHarness })
	if len(h.Phases) == 0 { // a history without phases is one phase
		phases = []history.Phase{{}}
	}
	return paces{phases: phases, done: make([][]int, len(phases))}
}

func (c *paces) record(n history.Numbered) {
	s, ok := n.Record.(*history.Sample)
	if !ok {
		return
	}
	c.queue = c.queue || s.Op == history.Put || s.Op == history.Take
	if s.Outcome != history.OK || s.Op != history.Acquire && s.Op != history.Take {
		return
	}
	i := slices.IndexFunc(c.phases, func(p history.Phase) bool { return p.Name == s.Phase || p.Name == "" })
	if i < 0 {
		return
	}
	k := int(max(0, s.Return-c.phases[i].Start) / plot.PaceWidth)
	for len(c.done[i]) <= k {
		c.done[i] = append(c.done[i], 0)
	}
	c.done[i][k]++
}

// over returns the phases as they are drawn; end is that of the history, and of a phase
// that it saw no end of.
func (c *paces) over(end time.Duration) []plot.Pace {
	var out []plot.Pace
	for i, p := range c.phases {
		x := plot.Pace{Start: p.Start, End: cmp.Or(p.End, end)}
		if x.End <= x.Start {
			continue
		}
		x.Done = make([]int, max(1, (x.End-x.Start+plot.PaceWidth/2)/plot.PaceWidth))
		for k, n := range c.done[i] {
			x.Done[min(k, len(x.Done)-1)] += n
		}
		out = append(out, x)
	}
	return out
}
