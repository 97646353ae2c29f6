package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// fit judges the harness, not the subject: was the machine good enough to measure on?
// A trial that is unfit is unknown, whatever its numbers say. The harness has noted
// what it saw of itself, and the limits beside it.
type fit struct {
	untimed bool // a zoo: nothing is timed, and trials run beside each other
	notes   int
	unfit   evidence
}

func newFit(h *history.History) checker {
	f := &fit{untimed: h.Header.Provocation != ""}
	return checker{
		name: Fit, applies: func() bool { return f.notes > 0 }, record: f.record,
		finish: func(time.Duration) Verdict {
			if f.unfit.count == 0 {
				return pass()
			}
			v := f.unfit.fail("limits passed")
			v.Result = Unknown
			return v
		},
	}
}

func (f *fit) record(n history.Numbered) {
	if n.Note == nil || n.Note.Kind != history.Watch {
		return
	}
	c := n.Note.Counts
	if _, limited := c[history.CountLimit+history.CountLate]; !limited {
		return // written by a zkbench that had no limits
	}
	f.notes++
	passed := func(format string, args ...any) {
		f.unfit.add(func() string { return fmt.Sprintf(format, args...) }, n.N)
	}
	if lost := c[history.CountLost]; lost > 0 {
		passed("%d records were dropped", lost)
	}
	if f.untimed {
		return
	}
	if late, limit := c[history.CountLate], c[history.CountLimit+history.CountLate]; late > limit {
		passed("a timer of the harness fired %v late, more than %v", round(late), round(limit))
	}
	ticks, late := c[history.CountTicks], c[history.CountLateTicks]
	limit := c[history.CountLimit+history.CountLateTicks]
	if late*1000 > limit*ticks {
		passed("%s of the harness's timers fired more than 10ms late, more than %s", percent(late*1000/ticks), percent(limit))
	}
	if waiting, limit := c[history.CountBacklog], c[history.CountLimit+history.CountBacklog]; waiting > limit {
		passed("%d records waited to be written, more than %d", waiting, limit)
	}
	for _, of := range []struct{ key, whose string }{{history.CountCPU, "the harness"}, {history.CountMachine, "the machine"}} {
		if used, limit := c[of.key], c[history.CountLimit+of.key]; used > limit {
			passed("%s used %s of all processors, more than %s", of.whose, percent(used), percent(limit))
		}
	}
}

func round(ns int64) time.Duration { return time.Duration(ns).Round(time.Millisecond) }

// percent writes thousandths.
func percent(permille int64) string { return fmt.Sprintf("%g %%", float64(permille)/10) }
