package verdict

import (
	"fmt"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// newNotificationCount compares, round by round, the notifications on the wire with the members' reports.
// They are equal on members that zkbench started. Rounds with a fault are not evaluated: a restarted member
// counts again, and notifications on a closed connection are lost.
//
// A member counts a client with two watches on a node twice, but notifies it once. An external
// ensemble may have other clients. More notifications at the members are therefore unknown, not a
// failure.
func newNotificationCount(in *inputs) checker {
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
			return notJudged(fmt.Sprintf("the members counted %d rounds, but faults affected all of them; after a client's addWatch no rounds count, because a member counts notifications of recursive watches that it does not send", rounds))
		}
		return pass(fmt.Sprintf("the wire and the members' counters agree in all of %d rounds", judged))
	}}
}
