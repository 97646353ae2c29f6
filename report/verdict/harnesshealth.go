package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// newHarnessHealth checks whether the machine was fast enough for measurements; otherwise the trial is unknown,
// regardless of its numbers. The harness has recorded measurements of itself, with their limits.
func newHarnessHealth(in *inputs) checker {
	judged := 0
	var exceeding evidence
	record := func(n history.Numbered) {
		s, ok := n.Record.(*history.HarnessLoad)
		if !ok {
			return
		}
		judged++
		exceeded := func(format string, args ...any) { exceeding.Add([]int{n.N}, format, args...) }
		if s.Lost > 0 {
			exceeded("%d records were dropped", s.Lost)
		}
		if in.history.Header.Script != "" {
			return // a zoo: nothing is timed, and trials run in parallel
		}
		for _, why := range lateness(s) {
			exceeded("%s", why)
		}
		if s.MaxBacklog > s.Limits.Backlog {
			exceeded("%d records waited to be written, more than the limit of %d", s.MaxBacklog, s.Limits.Backlog)
		}
		processors := func(who string, used *float64, limit float64) {
			if used != nil && *used > limit {
				exceeded("%s used %s of all processors, more than the limit of %s", who, percent(*used), percent(limit))
			}
		}
		processors("the harness", s.CPU, s.Limits.CPU)
		processors("the machine", s.MachineCPU, s.Limits.MachineCPU)
	}
	return checker{record: record, finish: func(ending) Verdict {
		switch {
		case judged == 0:
			return notJudged("the harness recorded no measurements of itself")
		case exceeding.Count == 0:
			return pass()
		}
		return exceeding.Verdict(Unknown, "exceeded limits")
	}}
}

// lateness returns how late the harness's own timers were, if more than its limits allow: the machine
// was then too busy to conclude that an operation took too long.
func lateness(s *history.HarnessLoad) (why []string) {
	if s.LateMax > s.Limits.Late {
		why = append(why, fmt.Sprintf("a timer of the harness fired %v late, more than the limit of %v", s.LateMax.Round(time.Millisecond), s.Limits.Late.Round(time.Millisecond)))
	}
	if share := float64(s.LateTicks) / float64(max(s.Ticks, 1)); share > s.Limits.LateShare {
		why = append(why, fmt.Sprintf("%s of the harness's timers fired more than 10ms late, more than the limit of %s", percent(share), percent(s.Limits.LateShare)))
	}
	return why
}

func percent(share float64) string { return fmt.Sprintf("%g %%", math.Floor(share*1000)/10) }
