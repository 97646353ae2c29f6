package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Keys of Note.Counts in notes of kind history.Fan: the counts over one round,
// and what the variant's formula allows. A key that was not counted is absent.
const (
	CountHandoffs      = "handoffs"
	CountFlaps         = "flaps" // a waiter lost its session and came back; in place of hand-offs
	CountNotifications = "notifications"
	CountRequests      = "requests"
	CountBytes         = "bytes"
	CountServers       = "servers.notifications" // the same, counted by the members
	CountExpected      = "expected."             // prefix of the formula's value
)

// fan judges rule 11: a hand-off wakes no more clients, and costs no more
// requests, than the variant's formula allows. Fewer is well: watches coalesce.
// Rounds that a fault disturbed are not judged.
type fan struct {
	history   *history.History
	faults    spans
	rounds    int
	judged    int
	disturbed int
	broken    evidence
}

func newFanOut(h *history.History) checker {
	f := &fan{history: h, faults: aftermath(h, patience(h))}
	return checker{
		name: FanOut, applies: func() bool { return f.rounds > 0 }, record: f.record,
		finish: func(time.Duration) Verdict { return f.finish() },
	}
}

func (f *fan) record(n history.Numbered) {
	if n.Note == nil || n.Note.Kind != history.Fan {
		return
	}
	f.rounds++
	if f.faults.touches(f.since(n.Note), n.Note.At) {
		f.disturbed++
		return
	}
	judged := false
	for _, what := range []string{CountNotifications, CountRequests} {
		measured, ok := n.Note.Counts[what]
		expected, known := n.Note.Counts[CountExpected+what]
		if !ok || !known {
			continue
		}
		judged = true
		if measured > expected {
			f.broken.add(func() string {
				return fmt.Sprintf("%d %s in %s, the formula allows %d (record %d)",
					measured, what, acts(n.Note.Counts), expected, n.N)
			}, n.N)
		}
	}
	if judged {
		f.judged++
	}
}

// acts says over what was counted.
func acts(counts map[string]int64) string {
	if n, ok := counts[CountFlaps]; ok {
		return fmt.Sprintf("%d flaps of a waiter", n)
	}
	return fmt.Sprintf("%d hand-offs", counts[CountHandoffs])
}

// since returns when the counting of the note's round began, at the earliest.
func (f *fan) since(n *history.Note) time.Duration {
	var from time.Duration
	for _, p := range f.history.Phases {
		if p.Start <= n.At && (n.Phase == "" || p.Name == n.Phase) {
			from = p.Start
		}
	}
	return from
}

func (f *fan) finish() Verdict {
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
