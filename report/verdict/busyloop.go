package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// busy judges the second part of rule 11: a client that waits waits for a
// notification. Requests that nothing brings about (no call, no notification, no
// reconnect; for a queue, no reply that somebody was faster) are a loop.
//
// The bounds are wide: a sound recipe needs some six requests a call and two a
// notification, a loop makes hundreds.
type busy struct {
	judged int
	broken evidence
}

const (
	requestsPerCall    = 16
	requestsPerCause   = 6  // for each notification, connection and, in a queue, refusal
	requestsForNothing = 40 // in one phase
)

func newBusyLoop(*history.History) checker {
	b := &busy{}
	return checker{
		name: BusyLoop, applies: func() bool { return b.judged > 0 }, record: b.record,
		finish: func(time.Duration) Verdict { return b.finish() },
	}
}

func (b *busy) record(n history.Numbered) {
	if n.Note == nil || n.Note.Kind != history.Effort {
		return
	}
	b.judged++
	c := n.Note.Counts
	causes := c[history.CountNotified] + c[history.CountConnects]
	if n.Note.Text == history.OfQueue {
		causes += c[history.CountRefusals]
	}
	allowed := requestsPerCall*c[history.CountCalls] + requestsPerCause*causes + requestsForNothing
	if c[history.CountRequests] <= allowed {
		return
	}
	b.broken.add(func() string {
		return fmt.Sprintf("client %d made %d requests for %d calls, with %d notifications and %d connections to give a reason for them (record %d): more than %d need a loop that asks again and again",
			n.Note.Client, c[history.CountRequests], c[history.CountCalls], c[history.CountNotified], c[history.CountConnects], n.N, allowed)
	}, n.N)
}

func (b *busy) finish() Verdict {
	switch {
	case b.broken.count > 0:
		return b.broken.fail("clients in a loop")
	case b.judged == 0:
		return unknown("no client's requests were counted")
	}
	return pass()
}
