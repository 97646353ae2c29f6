package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

const LossNotification = "loss-notification"

func init() {
	register(Guarantee{
		Name: LossNotification, Rule: 2, Concerns: granting, promised: func(p history.Promises) bool { return p.Events },
		Promise: "A holder whose session has ended is notified (suspended, lost or ended).",
		Harm:    "The holder continues until it queries its state, or forever.",
		Help:    "a holder was not notified that its session had ended",
		check:   newLossNotification,
	})
}

// notifications checks that holders are notified. A holder counts as such from the return of its
// acquire until its release is called or its client is closed.
type notifications struct {
	limit   time.Duration // from the servers' message on the wire to the client's notification
	held    map[int]int64 // session of the grant, by client
	told    map[int]bool
	pending map[int]loss // holders whose session has ended, and that have not been notified
	now     time.Duration
	count   int
	broken  evidence
}

func newLossNotification(in *inputs) checker {
	x := &notifications{limit: MaxDetection(in.history), held: map[int]int64{}, told: map[int]bool{}, pending: map[int]loss{}}
	return checker{record: x.record, finish: x.finish}
}

func (x *notifications) record(n history.Numbered) {
	x.now = max(x.now, n.Time())
	switch r := n.Record.(type) {
	case *history.Sample:
		switch {
		case r.Op == history.Acquire && r.Outcome == history.OK:
			x.over(r.Client, r.Call)
			x.held[r.Client], x.told[r.Client] = r.Session, false
		case r.Op == history.Release:
			x.over(r.Client, r.Call)
			delete(x.held, r.Client)
		}
	case *history.Session:
		switch r.Event {
		case history.Suspended, history.Lost, history.Ended:
			x.told[r.Client] = true
			if _, waits := x.pending[r.Client]; waits {
				x.over(r.Client, r.At)
				x.count++
			}
		case history.Restored:
			x.told[r.Client] = false
		case history.Closed, history.Killed:
			x.over(r.Client, r.At)
			delete(x.held, r.Client)
		case history.Expired:
			if held, ok := x.held[r.Client]; !ok || held != r.Session {
				return
			}
			if x.told[r.Client] {
				x.count++
			} else {
				x.pending[r.Client] = loss{r.Session, r.At, n.N}
			}
		}
	}
}

// over ends the wait for a client's notification at a time.
func (x *notifications) over(client int, at time.Duration) {
	l, waits := x.pending[client]
	delete(x.pending, client)
	if waits && x.limit > 0 && at-l.at > x.limit {
		x.broken.add([]int{l.record}, "client %d held a grant of session %#x, of whose end the servers had notified it at %v (record %d), and its user was not notified within %v",
			client, uint64(l.session), l.at, l.record, x.limit)
	}
}

func (x *notifications) finish(end ending) Verdict {
	if !end.cut {
		for client := range x.pending {
			x.over(client, end.at)
		}
	}
	switch {
	case x.broken.count > 0:
		return x.broken.fail("holders")
	case x.count == 0:
		return notJudged("no holder's session ended")
	}
	return pass(fmt.Sprintf("%s notified", units.Plural(x.count, "holder")))
}
