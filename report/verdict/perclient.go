package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// newFit checks whether the machine was fast enough for measurements; otherwise the trial is unknown,
// regardless of its numbers. The harness has recorded measurements of itself, with their limits.
func newFit(in *inputs) checker {
	judged := 0
	var unfit evidence
	record := func(n history.Numbered) {
		s, ok := n.Record.(*history.Self)
		if !ok {
			return
		}
		judged++
		exceeded := func(format string, args ...any) { unfit.Add([]int{n.N}, format, args...) }
		if s.Lost > 0 {
			exceeded("%d records were dropped", s.Lost)
		}
		if in.history.Header.Provocation != "" {
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
		case unfit.Count == 0:
			return pass()
		}
		return unfit.Verdict(Unknown, "exceeded limits")
	}}
}

// lateness returns how late the harness's own timers were, if more than its limits allow: the machine
// was then too busy to conclude that an operation took too long.
func lateness(s *history.Self) (why []string) {
	if s.LateMax > s.Limits.Late {
		why = append(why, fmt.Sprintf("a timer of the harness fired %v late, more than the limit of %v", s.LateMax.Round(time.Millisecond), s.Limits.Late.Round(time.Millisecond)))
	}
	if share := float64(s.LateTicks) / float64(max(s.Ticks, 1)); share > s.Limits.LateShare {
		why = append(why, fmt.Sprintf("%s of the harness's timers fired more than 10ms late, more than the limit of %s", percent(share), percent(s.Limits.LateShare)))
	}
	return why
}

func percent(share float64) string { return fmt.Sprintf("%g %%", math.Floor(share*1000)/10) }

// newCounts compares, round by round, the notifications on the wire with the members' reports.
// They are equal on members that zkbench started. Rounds with a fault are not evaluated: a restarted member
// counts again, and notifications on a closed connection are lost.
//
// A member counts a client with two watches on a node twice, but notifies it once. An external
// ensemble may have other clients. More notifications at the members are therefore unknown, not a
// failure.
func newCounts(in *inputs) checker {
	faults := facts.FaultWindows(in.history, facts.MaxDetection(in.history))
	rounds, judged := 0, 0
	empty := 0                  // rounds without hand-offs and notifications
	var broken, doubts evidence // more on the wire, and fewer
	record := func(n history.Numbered) {
		t, ok := n.Record.(*history.Traffic)
		if !ok || t.ServerNotifications == nil {
			return
		}
		rounds++
		switch fired := *t.ServerNotifications; {
		case faults.Touches(t.At, t.At):
			return
		case t.Count == 0 && t.Notifications == 0 && fired == 0:
			empty++
			return
		case t.Notifications > fired:
			broken.Add([]int{n.N}, "in round %d of phase %q %d notifications passed on the wire, but the members had fired %d (record %d)",
				t.Round, t.Phase, t.Notifications, fired, n.N)
		case t.Notifications < fired:
			doubts.Add([]int{n.N}, "in round %d of phase %q the members' counters show %d notifications, but the tap shows %d (record %d): another client received some, or a client had two watches on one node",
				t.Round, t.Phase, fired, t.Notifications, n.N)
		}
		judged++
	}
	return checker{record: record, finish: func(ending) Verdict {
		switch {
		case broken.Count > 0:
			return broken.Fail("rounds")
		case doubts.Count > 0:
			return doubts.Verdict(Unknown, "rounds")
		case judged == 0 && empty > 0 && empty == rounds:
			return notJudged("no client was notified: there was nothing to count")
		case judged == 0:
			return notJudged(fmt.Sprintf("the members counted %d rounds, but faults affected all of them", rounds))
		}
		return pass(fmt.Sprintf("the wire and the members' counters agree in all of %d rounds", judged))
	}}
}

// newBusyLoop checks the second part of rule 11: a waiting client waits for a notification. Requests
// without a cause (a call, a notification, a reconnect; for a queue, a reply that another consumer
// was faster) are a loop.
//
// The bounds are wide: a sound recipe needs some six requests per call and two per notification, a
// loop makes hundreds. A polling subject may send a request every 10 ms.
func newBusyLoop(in *inputs) checker {
	judged := 0
	var broken evidence
	record := func(n history.Numbered) {
		e, ok := n.Record.(*history.Effort)
		if !ok {
			return
		}
		judged++
		causes := e.Notifications + e.Connections
		if e.Queue {
			causes += e.Refusals
		}
		allowed := requestsPerCall*e.Calls + requestsPerCause*causes + requestsForNothing
		if in.history.Header.Variant == Polling {
			allowed += int64(requestsPerSecond * (e.At - phaseStart(in.history, e.Phase, e.At)).Seconds())
		}
		if e.Requests > allowed {
			broken.Add([]int{n.N},
				"client %d sent %d requests for %d calls, and only %d notifications and %d connections as other causes (record %d): more than %d requests indicate polling",
				e.Client, e.Requests, e.Calls, e.Notifications, e.Connections, n.N, allowed)
		}
	}
	return checker{record: record, finish: func(ending) Verdict {
		switch {
		case broken.Count > 0:
			return broken.Fail("clients in a loop")
		case judged == 0:
			return notJudged("no client's requests were counted")
		}
		return pass()
	}}
}

const (
	requestsPerCall    = 16
	requestsPerCause   = 6   // for each notification, connection and, in a queue, lost race
	requestsForNothing = 40  // in one phase
	requestsPerSecond  = 100 // of a polling client
)

// Polling is the variant of a subject whose waiters watch nothing, as Header.Variant.
const Polling = "polling"
