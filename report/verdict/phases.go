package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// phases is the progress in each phase of a trial.
type phases struct {
	all    []*phase // in order of their start
	byName map[string]*phase
	last   *phase // the last result of named
}

type phase struct {
	name        string
	byHarness   bool // when clients call
	start, over time.Duration
	tried       int           // acquires, or takes, including those in progress at its end
	done        int           // granted, or items taken
	calm        bool          // one of them without a fault near
	held        bool          // a client held in it; for a queue: it was empty
	put         bool          // items were put
	open        time.Duration // how long no client had been granted at its end, while one waited or had no session, if longer than the limit
	short       time.Duration // the same without a fault near, if longer than half the limit
}

func newPhases(h *history.History) *phases {
	p := &phases{byName: map[string]*phase{}}
	for i := range h.Phases {
		x := &h.Phases[i]
		ph := &phase{name: x.Name, byHarness: x.Pace == history.ByHarness, start: x.Start, over: x.Over()}
		if ph.over == 0 {
			ph.over = forever
		}
		p.all, p.byName[x.Name] = append(p.all, ph), ph
	}
	return p
}

// named returns the phase with that name; a phase that is not recorded lasts for the whole trial.
func (p *phases) named(name string) *phase {
	if p.last != nil && p.last.name == name {
		return p.last
	}
	ph := p.byName[name]
	if ph == nil {
		ph = &phase{name: name, over: forever}
		p.all, p.byName[name] = append(p.all, ph), ph
	}
	p.last = ph
	return ph
}

// held records that a client held.
func (p *phases) held(b Belief) {
	for _, ph := range p.all {
		ph.held = ph.held || b.Start <= ph.over && b.End >= ph.start
	}
}

// endedIn returns the phases that were over in that time.
func (p *phases) endedIn(from, to time.Duration) []*phase {
	var out []*phase
	for _, ph := range p.all {
		if ph.over > from && ph.over <= to {
			out = append(out, ph)
		}
	}
	return out
}

// verdict is the worst of all phases; what is "granted" or "taken". In a phase with faults near all
// the time it is enough that the waiters progressed.
func (p *phases) verdict(what string, limit time.Duration, snapshots int) Verdict {
	var doubts []string
	done, calm := 0, false
	for _, ph := range p.all {
		done, calm = done+ph.done, calm || ph.calm
		switch in := ph.in(); {
		case ph.open > 0:
			doubts = append(doubts, fmt.Sprintf("nothing was %s for the last %v%s, faults and recovery included, while a client waited or had no session; without them it was not longer than the limit of %v",
				what, ph.open.Round(time.Millisecond), in, limit))
		case ph.short > 0:
			doubts = append(doubts, fmt.Sprintf("nothing was %s for the last %v%s, without a fault, while a client waited: the phase ended too early to decide; limit %v",
				what, ph.short.Round(time.Millisecond), in, limit))
		case ph.tried > 0 && ph.done == 0 && !ph.held:
			doubts = append(doubts, fmt.Sprintf("nothing was ever %s%s", what, in))
		}
	}
	switch {
	case done == 0 && len(doubts) == 0:
		return unknown("nothing was ever " + what)
	case len(doubts) > 0:
		return unknown(slices.Compact(doubts)...)
	case !calm:
		return pass(fmt.Sprintf("faults were active throughout; no client exceeded the wait limit, and %s of the line without faults showed no stuck client", units.Plural(snapshots, "snapshot")))
	}
	return pass()
}

// in names the phase, if it has a name.
func (ph *phase) in() string {
	if ph.name == "" {
		return ""
	}
	return fmt.Sprintf(" in phase %q", ph.name)
}
