package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// PaceWidth is the width of the time slices in which grants are counted.
const PaceWidth = 100 * time.Millisecond

// Pace is the number of grants, or of items taken, over a phase.
type Pace struct {
	Start, End time.Duration
	Done       []int // in slices of PaceWidth from Start; the last slice includes the rest of the phase
}

// pace counts grants and items taken over time, in the phases that count for the
// throughput.
type pace struct {
	phases []history.Phase
	done   [][]int // of each phase, in slices of PaceWidth from its start
	items  bool    // there are items
}

func newPace(h *history.History) pace {
	phases := slices.DeleteFunc(slices.Clone(h.Phases), func(p history.Phase) bool { return p.Pace == history.ByHarness })
	if len(h.Phases) == 0 { // a history without phases is a phase
		phases = []history.Phase{{}}
	}
	return pace{phases: phases, done: make([][]int, len(phases))}
}

func (c *pace) sample(s *history.Sample) {
	c.items = c.items || s.Op == history.Put || s.Op == history.Take
	if s.Outcome != history.OK || s.Op != history.Acquire && s.Op != history.Take {
		return
	}
	i := slices.IndexFunc(c.phases, func(p history.Phase) bool { return p.Name == s.Phase || p.Name == "" })
	if i < 0 {
		return
	}
	if over := c.phases[i].Over(); over > 0 && s.Return > over {
		return
	}
	k := int(max(0, s.Return-c.phases[i].Start) / PaceWidth)
	for len(c.done[i]) <= k {
		c.done[i] = append(c.done[i], 0)
	}
	c.done[i][k]++
}

// paces returns the paces of the phases. end is the end of the history, and of a phase without
// a recorded end.
func (c *pace) paces(end time.Duration) []Pace {
	var out []Pace
	for i, p := range c.phases {
		x := Pace{Start: p.Start, End: cmp.Or(p.Over(), end)}
		if x.End <= x.Start {
			continue
		}
		x.Done = make([]int, max(1, (x.End-x.Start+PaceWidth/2)/PaceWidth))
		for k, n := range c.done[i] {
			x.Done[min(k, len(x.Done)-1)] += n
		}
		out = append(out, x)
	}
	return out
}
