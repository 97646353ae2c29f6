package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// fan checks [FanOut]: a hand-off notifies no more clients, and costs no more requests, than the
// variant's formula allows. Fewer is fine: watches coalesce. Rounds with a fault are not evaluated.
//
// Without a counted round, the notifications of each phase are compared with the number that the declared
// variant allows, with or without faults. If waiters watch their predecessor, a deleted node
// notifies one client; each call, and each reconnect, creates at most one node, and a watch left by
// a call may fire once more. A write of a node's data, such as a holder's heartbeat, notifies the client
// that watches that node. A waiter that watches the parent is notified of each node that is
// created or deleted.
type fan struct {
	history   *history.History
	faults    facts.Spans
	rounds    int
	judged    int
	disturbed int
	empty     int // rounds without a hand-off
	phases    []*phaseTraffic
	broken    evidence
}

type phaseTraffic struct {
	phase                                              string
	clients, calls, connections, writes, notifications int64
	record                                             int
}

// Variants of a line, as Header.Variant.
const (
	Parent      = "parent"
	Predecessor = "predecessor"
)

func newFanOut(in *inputs) checker {
	f := &fan{history: in.history, faults: facts.FaultWindows(in.history, facts.MaxDetection(in.history))}
	return checker{record: f.record, finish: f.finish}
}

func (f *fan) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Traffic:
		f.round(r, n.N)
	case *history.Effort:
		f.effort(r, n.N)
	}
}

func (f *fan) effort(e *history.Effort, record int) {
	if k := len(f.phases); k == 0 || f.phases[k-1].phase != e.Phase {
		f.phases = append(f.phases, &phaseTraffic{phase: e.Phase})
	}
	p := f.phases[len(f.phases)-1]
	p.clients, p.record = p.clients+1, record
	p.calls, p.connections, p.writes, p.notifications = p.calls+e.Calls, p.connections+e.Connections, p.writes+e.Writes, p.notifications+e.Notifications
}

// byVariant compares a phase with the variant's limit, and reports whether the variant has one.
func (f *fan) byVariant(p *phaseTraffic) bool {
	allowed := 2*(p.calls+p.connections+p.clients) + p.writes
	if r := f.history.Header.Recipe; r == facts.Semaphore || r == facts.Barrier {
		allowed *= 2 // the first waiter, or member, is notified of other nodes too
	}
	switch f.history.Header.Variant {
	case Parent:
		allowed *= p.clients
	case Predecessor:
	default:
		return false
	}
	if p.notifications > allowed {
		f.broken.Add([]int{p.record}, "%d notifications to %d clients in phase %s, for %d calls and %d connections (record %d): waiters that watch their %s cause at most %d",
			p.notifications, p.clients, p.phase, p.calls, p.connections, p.record, f.history.Header.Variant, allowed)
	}
	return true
}

func (f *fan) round(t *history.Traffic, record int) {
	if t.Of == history.OfItem {
		return
	}
	f.rounds++
	if f.faults.Touches(phaseStart(f.history, t.Phase, t.At), t.At) {
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
			f.broken.Add([]int{record}, "%d %s in %d %ss, but the formula allows %d (record %d)",
				c.measured, c.what, t.Count, t.Of, *c.expected, record)
		}
	}
	switch {
	case t.Count == 0:
		f.empty++
	case judged:
		f.judged++
	}
}

// phaseStart returns when the last phase with that name, or any phase if the name is empty, began
// before a time.
func phaseStart(h *history.History, phase string, at time.Duration) time.Duration {
	var from time.Duration
	for _, p := range h.Phases {
		if p.Start <= at && (phase == "" || p.Name == phase) {
			from = p.Start
		}
	}
	return from
}

func (f *fan) finish(end ending) Verdict {
	byVariant := 0
	if !end.truncated && f.judged == 0 && f.disturbed == 0 && f.history.Header.Recipe != Queue {
		for _, p := range f.phases {
			if f.byVariant(p) {
				byVariant++
			}
		}
	}
	switch {
	case f.broken.Count > 0:
		return f.broken.Fail("rounds or counts that exceed the formula's value")
	case f.judged == 0 && f.disturbed > 0:
		return unknown(fmt.Sprintf("%s counted, but none had a hand-off without a fault nearby", units.Plural(f.rounds, "round")))
	case byVariant > 0:
		return pass("no round was counted; the notifications of each phase are within the variant's limit")
	case f.judged == 0 && f.rounds > 0 && f.empty == f.rounds:
		return notJudged("no round had a hand-off: no client waited behind another")
	case f.judged == 0 && f.rounds > 0 && len(f.history.Header.Formulas) == 0:
		return notJudged("the subject has no formula for the number of notified clients")
	case f.judged == 0 && f.rounds > 0:
		return unknown("no round has both a count and the formula's value")
	case f.judged == 0:
		return notJudged("no round was counted, and the subject declares no variant that limits the number of notified clients")
	}
	return pass()
}

// notifications checks that holders are notified. A client is a holder from the return of its
// acquire until its release is called or its client is closed.
type notifications struct {
	limit    time.Duration // from the servers' message on the wire to the client's notification
	held     map[int]int64 // session of the grant, by client
	notified map[int]bool
	pending  map[int]loss // holders whose session has ended, and that have not been notified
	count    int
	broken   evidence
}

func newLossNotification(in *inputs) checker {
	x := &notifications{limit: facts.MaxDetection(in.history), held: map[int]int64{}, notified: map[int]bool{}, pending: map[int]loss{}}
	return checker{record: x.record, finish: x.finish}
}

func (x *notifications) record(n history.Numbered) {
	switch r := n.Record.(type) {
	case *history.Sample:
		switch {
		case r.Op == history.Acquire && r.Outcome == history.OK:
			x.resolvePending(r.Client, r.Call)
			x.held[r.Client], x.notified[r.Client] = r.Session, false
		case r.Op == history.Release:
			x.resolvePending(r.Client, r.Call)
			delete(x.held, r.Client)
		}
	case *history.Session:
		switch r.Event {
		case history.Suspended, history.Lost, history.Ended:
			x.notified[r.Client] = true
			if _, waits := x.pending[r.Client]; waits {
				x.resolvePending(r.Client, r.At)
				x.count++
			}
		case history.Restored:
			x.notified[r.Client] = false
		case history.Closed, history.Killed:
			x.resolvePending(r.Client, r.At)
			delete(x.held, r.Client)
		case history.Expired:
			if held, ok := x.held[r.Client]; !ok || held != r.Session {
				return
			}
			if x.notified[r.Client] {
				x.count++
			} else {
				x.pending[r.Client] = loss{r.Session, r.At, n.N}
			}
		}
	}
}

func (x *notifications) resolvePending(client int, at time.Duration) {
	l, waits := x.pending[client]
	delete(x.pending, client)
	if waits && x.limit > 0 && at-l.at > x.limit {
		x.broken.Add([]int{l.record}, "client %d held a grant of session %#x, and the servers notified it of the session's end at %v (record %d), but the client library did not notify the application within %v",
			client, uint64(l.session), l.at, l.record, x.limit)
	}
}

func (x *notifications) finish(end ending) Verdict {
	if !end.truncated {
		for client := range x.pending {
			x.resolvePending(client, end.at)
		}
	}
	switch {
	case x.broken.Count > 0:
		return x.broken.Fail("holders")
	case x.count == 0:
		return notJudged("no holder's session ended")
	}
	return pass(fmt.Sprintf("%s notified that the session had ended", units.Plural(x.count, "holder")))
}
