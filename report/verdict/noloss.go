package verdict

import (
	"fmt"
	"slices"
	"time"
)

const NoLoss = "no-loss"

func init() {
	register(Guarantee{
		Name: NoLoss, Rule: 9, Concerns: queues,
		Promise: "An item that was put is taken by somebody, or is still in the queue.",
		Harm:    "The item is gone, and nobody has worked on it.",
		Help:    "an item was put and never taken, although the queue was emptied",
		check:   func(in *inputs) checker { return checker{finish: in.items.noLoss} },
	})
}

// noLoss needs a queue that was taken empty. As many items as there are takes
// without a reply may be gone with them.
func (q *items) noLoss(time.Duration) Verdict {
	q.resolve()
	var missing []string
	for id, i := range q.states {
		if i.put > 0 && i.taken == 0 && !i.had && !i.maybe {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	if v, lost := q.deleted(missing); lost {
		return v
	}
	switch {
	case q.puts == 0 || q.takes == 0:
		return unknown("nothing was ever put and taken")
	case len(missing) == 0:
		return pass()
	case !q.drained():
		return unknown(fmt.Sprintf("%d items were put and not taken, but the queue was not drained: they may still be in it", len(missing)))
	case len(missing) <= q.open:
		return unknown(fmt.Sprintf("%d items were put and not taken, but %d takes had no reply and may have taken them", len(missing), q.open))
	}
	var broken evidence
	for _, id := range missing {
		broken.add([]int{q.states[id].put}, "item %q was put (record %d) and not taken, although the queue was drained",
			id, q.states[id].put)
	}
	v := broken.fail("items")
	if q.open > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d takes without a reply explain only as many of the %d", q.open, len(missing)))
	}
	return v
}

// deleted judges those of the missing items of which the wire shows that they were
// deleted: no draining can find them any more, and no take without a reply explains
// them, since the one that deleted them is known.
func (q *items) deleted(missing []string) (Verdict, bool) {
	var lost evidence
	for _, id := range missing {
		if g, ok := q.vanished[id]; ok {
			lost.add([]int{q.states[id].put, g.record},
				"item %q was put (record %d) and deleted by client %d at zxid %#x, as the wire shows (record %d); the reply was lost, and no take handed the item over",
				id, q.states[id].put, g.client, uint64(g.zxid), g.record)
		}
	}
	return lost.fail("items"), lost.count > 0
}
