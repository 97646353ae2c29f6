package verdict

import (
	"fmt"

	"github.com/zkbench/zkbench/report/history"
)

const Counters = "notification-count"

func init() {
	register(Guarantee{
		Name: Counters, Rule: 11, Concerns: anyRecipe,
		Promise: "The wire and the members' own counters agree on how many notifications there were.",
		Harm:    "Fan-out figures cannot be trusted.",
		Help:    "more notifications on the wire than the members fired, which fails; or fewer, which is unknown",
		check:   newCounts,
	})
}

// tally compares, round by round, the notifications on the wire with the members' reports.
// On our own members they are equal. Rounds with a fault are not evaluated: a restarted member
// counts again, and notifications on a closed connection are lost.
//
// A member counts a client with two watches on a node twice, but notifies it once. An external
// ensemble may have other clients. More notifications at the members are therefore unknown, not a
// failure.
type tally struct {
	faults Spans
	rounds int
	judged int
	empty  int      // rounds without hand-offs and notifications
	broken evidence // more on the wire
	doubts evidence // fewer
}

func newCounts(in *inputs) checker {
	c := &tally{faults: FaultWindows(in.history, MaxDetection(in.history))}
	return checker{record: c.record, finish: c.finish}
}

func (c *tally) record(n history.Numbered) {
	t, ok := n.Record.(*history.Traffic)
	if !ok || t.ServerNotifications == nil {
		return
	}
	c.rounds++
	if c.faults.Touches(t.At, t.At) {
		return
	}
	fired := *t.ServerNotifications
	if t.Count == 0 && t.Notifications == 0 && fired == 0 {
		c.empty++
		return
	}
	c.judged++
	switch {
	case t.Notifications > fired:
		c.broken.add([]int{n.N}, "in round %d of phase %q %d notifications passed on the wire, and the members had fired %d (record %d)",
			t.Round, t.Phase, t.Notifications, fired, n.N)
	case t.Notifications < fired:
		c.doubts.add([]int{n.N}, "in round %d of phase %q the members' counters show %d notifications, the tap %d (record %d): another client received some, or a client had two watches on one node",
			t.Round, t.Phase, fired, t.Notifications, n.N)
	}
}

func (c *tally) finish(ending) Verdict {
	switch {
	case c.broken.count > 0:
		return c.broken.fail("rounds")
	case c.doubts.count > 0:
		return c.doubts.doubt("rounds")
	case c.judged == 0 && c.empty > 0 && c.empty == c.rounds:
		return notJudged("no client was notified: there was nothing to count")
	case c.judged == 0:
		return notJudged(fmt.Sprintf("%d rounds were counted by the members, none of them free of faults", c.rounds))
	}
	return pass(fmt.Sprintf("they agree in all of %d rounds", c.judged))
}
