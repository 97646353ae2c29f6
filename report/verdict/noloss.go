package verdict

import (
	"fmt"

	"github.com/zkbench/zkbench/report/units"
)

const NoLoss = "no-loss"

func init() {
	register(Guarantee{
		Name: NoLoss, Rule: 9, Concerns: queues, promised: anyDelivery,
		Promise: "Each item that was put is delivered or still in the queue.",
		Harm:    "The item is lost, and its work is never done.",
		Help:    "an item was put, and removed from the queue, and no take returned it",
		check:   func(in *inputs) checker { return checker{finish: in.items.noLoss} },
	})
}

// noLoss checks by the commits if they show the items.
func (q *items) noLoss(end ending) Verdict {
	q.resolve()
	if end.cut {
		return notJudged("unknown which items were taken")
	}
	if q.commits != nil && q.commits.linked {
		return q.lossByCommits()
	}
	return q.lossByCalls()
}

// lossByCommits checks every item whose nodes are all removed and that no take has handed over, and
// every one that was put successfully and never had a node. Items that exist at the end are not
// lost. Losses that the client could not prevent are excused (see excused).
func (q *items) lossByCommits() Verdict {
	if why := q.commits.incomplete(); why != "" {
		return unknown(why)
	}
	var broken evidence
	excused, standing, astray := 0, 0, 0
	var unseen []*item // not taken, and possibly in nodes that do not show them
	hidden := false    // some items cannot be recognized by their nodes' data
	for _, i := range q.open {
		hidden = hidden || i.taken > 0 && i.made == 0
	}
	for _, i := range q.sorted() {
		switch {
		case i.taken > 0 || i.maybeTaken || i.put == 0:
		case q.movedUndelivered(i):
			astray++
		case i.standing > 0:
			standing++
		case i.made == 0 && i.maybe:
		case i.made == 0 && hidden:
			unseen = append(unseen, i)
		case i.made == 0:
			broken.add([]int{i.put}, "item %q was put, with success (record %d), and no transaction ever put it into the queue", i.id, i.put)
		case i.maybe && q.commits.clientOf(i.by.session) == i.producer: // withdrawn
		case q.excused(i):
			excused++
		default:
			broken.add([]int{i.put}, "item %q was put (record %d) and removed by client %d at zxid %#x (node %s, session %#x), and no take handed it over",
				i.id, i.put, q.commits.clientOf(i.by.session), uint64(i.gone), i.path, uint64(i.by.session))
		}
	}
	if len(unseen) > 0 && broken.count == 0 {
		return q.notTaken(unseen)
	}
	var notes []string
	if standing > 0 {
		notes = append(notes, fmt.Sprintf("%s still in the queue at the end", units.Plural(standing, "item")))
	}
	if excused > 0 {
		notes = append(notes, fmt.Sprintf("%s went with a client that was killed, or never learned that it had removed it", units.Plural(excused, "item")))
	}
	switch {
	case broken.count > 0:
		return broken.fail("items")
	case q.puts == 0:
		return unknown("nothing was ever put")
	case astray > 0:
		return unknown(append(notes, fmt.Sprintf("%s in another folder at the end than the put's, and not handed over; whether that would happen later is unknown", units.Plural(astray, "item")))...)
	}
	return pass(notes...)
}

// excused reports whether the loss of an item does not break the promise: the client that removed
// it was killed, or its session ended, before it had any reply from after the removal. A queue that
// promises at-most-once may also lose an item with the reply. One that promises at-least-once must
// not remove an item before it hands it out, so nothing excuses it.
func (q *items) excused(i *item) bool {
	by := q.commits.sessions[i.by.session]
	switch {
	case by == nil || q.delivery == AtLeastOnce:
		return false
	case q.commits.couldNot(i):
		return true
	case q.delivery != AtMostOnce:
		return false
	case q.commits.lost[i.by]:
		return true
	}
	q.unnamed[by.client]-- // it may have been that take
	return q.unnamed[by.client] >= 0
}

// lossByCalls needs a queue that was emptied. As many items as takes without a reply may be lost
// with them.
func (q *items) lossByCalls() Verdict {
	var missing []*item
	for _, i := range q.sorted() {
		if i.put > 0 && i.taken == 0 && !i.maybeTaken && !i.maybe {
			missing = append(missing, i)
		}
	}
	switch {
	case q.puts == 0 || q.takes == 0:
		return unknown("nothing was ever put and taken")
	case len(missing) == 0:
		return pass(q.byCalls()...)
	}
	return q.notTaken(missing)
}

// notTaken checks items that were put and that no take handed over, without commits that show them.
func (q *items) notTaken(missing []*item) Verdict {
	unnamed := 0
	for _, n := range q.unnamed {
		unnamed += n
	}
	switch {
	case !q.drained():
		return unknown(fmt.Sprintf("%d items were put and not taken, but the queue was not drained: they may still be in it", len(missing)))
	case len(missing) <= unnamed:
		return unknown(fmt.Sprintf("%d items were put and not taken, but %d takes had no reply and may have taken them", len(missing), unnamed))
	}
	var broken evidence
	for _, i := range missing {
		broken.add([]int{i.put}, "item %q was put (record %d) and not taken, although the queue was drained", i.id, i.put)
	}
	v := broken.fail("items")
	if unnamed > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d takes without a reply explain only as many of the %d", unnamed, len(missing)))
	}
	return v
}
