package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const FanOut = "fan-out"

func init() {
	register(Guarantee{
		Name: FanOut, Rule: 11, Concerns: anyRecipe,
		Promise: "A hand-off wakes no more clients than the variant's formula says.",
		Harm:    "Every release costs the servers and all waiters more the more wait: a herd.",
		Help:    "a hand-off woke more clients, or asked more, than the formula allows",
		check:   newFanOut,
	})
}

// fan judges rule 11: a hand-off wakes no more clients, and costs no more
// requests, than the variant's formula allows. Fewer is good: watches coalesce.
// Rounds that a fault disturbed are not judged.
type fan struct {
	history   *history.History
	faults    Spans
	rounds    int
	judged    int
	disturbed int
	broken    evidence
}

func newFanOut(in *inputs) checker {
	f := &fan{history: in.history, faults: Aftermath(in.history, Patience(in.history))}
	return checker{applies: func() bool { return f.rounds > 0 }, record: f.record, finish: f.finish}
}

func (f *fan) record(n history.Numbered) {
	t, ok := n.Record.(*history.Traffic)
	if !ok || t.Of == history.OfItem {
		return
	}
	f.rounds++
	if f.faults.Touches(f.since(t), t.At) {
		f.disturbed++
		return
	}
	judged := false
	for _, c := range []struct {
		what     string
		measured int64
		expected *int64
	}{{"notifications", t.Notifications, t.ExpectedNotifications}, {"requests", t.Requests, t.ExpectedRequests}} {
		if c.expected == nil {
			continue
		}
		judged = true
		if c.measured > *c.expected {
			f.broken.add([]int{n.N}, "%d %s in %d %ss, the formula allows %d (record %d)",
				c.measured, c.what, t.Count, t.Of, *c.expected, n.N)
		}
	}
	if judged {
		f.judged++
	}
}

// since returns when the counting began, at the earliest.
func (f *fan) since(t *history.Traffic) time.Duration {
	var from time.Duration
	for _, p := range f.history.Phases {
		if p.Start <= t.At && (t.Phase == "" || p.Name == t.Phase) {
			from = p.Start
		}
	}
	return from
}

func (f *fan) finish(time.Duration) Verdict {
	switch {
	case f.broken.count > 0:
		return f.broken.fail("rounds or counts above the formula")
	case f.judged == 0 && f.disturbed > 0:
		return unknown(fmt.Sprintf("all %d rounds that were counted were disturbed by a fault", f.disturbed))
	case f.judged == 0:
		return unknown("no round has both a count and the formula's value")
	}
	return pass()
}
