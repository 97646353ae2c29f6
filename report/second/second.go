// Package second has a second opinion on mutual exclusion, by porcupine, a
// linearizability checker. It searches where the verdict sweeps, so the two share hardly
// any code; its memory grows with the square of the history, so it judges windows only.
//
//	o := second.Search(h, from, to, verdict.Patience(h))
//	if o.Result == verdict.Fail { ... }
package second

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Opinion is what the search found.
type Opinion struct {
	Result     string // verdict.Pass, Fail, or Unknown where it ran out of time
	Operations int

	model porcupine.Model
	info  porcupine.LinearizationInfo
}

// Limits on a window, and on the search.
const (
	windowLimit = 1000 // beliefs
	searchLimit = 10 * time.Second
)

// hold is a time in which a client held, as the search sees it.
type hold struct {
	client            int
	token             int64
	asked, from       time.Duration // taken somewhere between
	mayEnd, certainly time.Duration // and let go somewhere between
}

// act is an operation on the lock that the model knows.
type act struct {
	take bool
	id   int // of the hold
	hold hold
}

// model is a lock: free (0), or held by one.
var model = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		a := input.(act)
		if a.take {
			return state.(int) == 0, a.id
		}
		return state.(int) == a.id, 0
	},
	DescribeOperation: func(input, _ any) string {
		a := input.(act)
		if a.take {
			return fmt.Sprintf("client %d takes token %d", a.hold.client, a.hold.token)
		}
		return fmt.Sprintf("client %d lets go of token %d", a.hold.client, a.hold.token)
	},
	DescribeState: func(state any) string {
		if state.(int) == 0 {
			return "free"
		}
		return fmt.Sprintf("held (%d)", state)
	},
}

// Search judges the beliefs that meet [from, to]. excuse is how long after a fault its
// victim may not know yet that it has lost the grant.
func Search(h *history.History, from, to, excuse time.Duration) Opinion {
	return search(h, from, to, excuse, windowLimit)
}

// search is Search with a limit on the beliefs.
func search(h *history.History, from, to, excuse time.Duration, limit int) Opinion {
	var holds []hold
	var youngest int64 // token that was let in
	tracker := verdict.NewBeliefs(func(b verdict.Belief) {
		// A belief without duration is no time in which somebody held.
		if b.Start < b.End && b.Start <= to && b.End >= from && len(holds) < limit {
			holds = append(holds, split(b, b.Token < youngest, h.Faults, excuse)...)
		}
		youngest = max(youngest, b.Token)
	})
	var end time.Duration
	for n, err := range h.Records {
		if err != nil {
			break
		}
		end = max(end, n.Time())
		tracker.Add(n)
	}
	tracker.Close(end)
	return check(holds)
}

// split makes of a belief what certainly was held. A fault may have taken the grant
// away at any time from its injection to the end of the excuse; who still believes after
// that has taken it anew, and wrongly if somebody else has it. late says that one with
// a younger token was let in before.
func split(b verdict.Belief, late bool, faults []history.Fault, excuse time.Duration) []hold {
	whole := hold{b.Client, b.Token, min(b.Call, b.Start), b.Start, b.End, b.End}
	if b.Restored {
		whole.asked = b.Start
	}
	for _, f := range faults {
		over, since := max(f.End, f.Start), b.Start
		served := slices.Contains(f.Served, b.Client)
		if served && late {
			since = b.Call
		}
		if f.Client != b.Client && !served || f.Start > b.End || over < since {
			continue
		}
		whole.mayEnd = max(b.Start, f.Start)
		if served && late {
			whole.mayEnd = max(whole.asked, f.Start) // it never held what it was granted so late
		}
		if excused := over + excuse; excused < b.End {
			again := hold{b.Client, b.Token, excused, excused, b.End, b.End}
			whole.certainly = excused
			return []hold{whole, again}
		}
		break
	}
	return []hold{whole}
}

func check(holds []hold) Opinion {
	var ops []porcupine.Operation
	slices.SortStableFunc(holds, func(a, b hold) int { return cmp.Compare(a.from, b.from) })
	for i, h := range holds {
		ops = append(ops,
			porcupine.Operation{ClientId: h.client, Input: act{true, i + 1, h}, Call: int64(h.asked), Return: int64(h.from)},
			porcupine.Operation{ClientId: h.client, Input: act{false, i + 1, h}, Call: int64(h.mayEnd), Return: int64(h.certainly)})
	}
	o := Opinion{Operations: len(ops), model: model}
	result, info := porcupine.CheckOperationsVerbose(model, ops, searchLimit)
	o.info = info
	o.Result = map[porcupine.CheckResult]string{porcupine.Ok: verdict.Pass, porcupine.Illegal: verdict.Fail}[result]
	if o.Result == "" {
		o.Result = verdict.Unknown
	}
	return o
}

// Draw writes porcupine's own drawing of what it found, a page for a browser.
func (o Opinion) Draw(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("second opinion: %w", err)
	}
	defer f.Close()
	if err := porcupine.Visualize(o.model, o.info, f); err != nil {
		return fmt.Errorf("second opinion: %w", err)
	}
	return nil
}
