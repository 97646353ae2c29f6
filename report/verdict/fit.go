package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const Fit = "harness-health"

func init() {
	register(Guarantee{
		Name: Fit, Rule: 12, Concerns: anyRecipe,
		Promise: "The machine and the harness were quick enough to measure on.",
		Harm:    "The numbers may say more about the machine than about the recipe.",
		Help:    "the machine was not fit to measure on; the trial is unknown",
		check:   newFit,
	})
}

// fit checks the harness: was the machine good enough for measurements? Otherwise the trial is
// unknown, regardless of its numbers. The harness has recorded its own measurements with their limits.
type fit struct {
	untimed bool // a zoo: nothing is timed, and trials run in parallel
	judged  int
	unfit   evidence
}

func newFit(in *inputs) checker {
	f := &fit{untimed: in.history.Header.Provocation != ""}
	return checker{
		record: f.record,
		finish: func(ending) Verdict {
			switch {
			case f.judged == 0:
				return notJudged("the harness has recorded nothing about itself")
			case f.unfit.count == 0:
				return pass()
			}
			return f.unfit.doubt("limits passed")
		},
	}
}

func (f *fit) record(n history.Numbered) {
	s, ok := n.Record.(*history.Self)
	if !ok {
		return
	}
	f.judged++
	passed := func(format string, args ...any) { f.unfit.add([]int{n.N}, format, args...) }
	if s.Lost > 0 {
		passed("%d records were dropped", s.Lost)
	}
	if f.untimed {
		return
	}
	if s.LateMax > s.Limits.Late {
		passed("a timer of the harness fired %v late, more than %v", s.LateMax.Round(time.Millisecond), s.Limits.Late.Round(time.Millisecond))
	}
	if share := float64(s.LateTicks) / float64(max(s.Ticks, 1)); share > s.Limits.LateShare {
		passed("%s of the harness's timers fired more than 10ms late, more than %s", percent(share), percent(s.Limits.LateShare))
	}
	if s.MaxBacklog > s.Limits.Backlog {
		passed("%d records waited to be written, more than %d", s.MaxBacklog, s.Limits.Backlog)
	}
	if s.CPU != nil && *s.CPU > s.Limits.CPU {
		passed("the harness used %s of all processors, more than %s", percent(*s.CPU), percent(s.Limits.CPU))
	}
	if s.MachineCPU != nil && *s.MachineCPU > s.Limits.MachineCPU {
		passed("the machine used %s of all processors, more than %s", percent(*s.MachineCPU), percent(s.Limits.MachineCPU))
	}
}

// percent formats a share with at most one decimal.
func percent(share float64) string { return fmt.Sprintf("%g %%", math.Floor(share*1000)/10) }
