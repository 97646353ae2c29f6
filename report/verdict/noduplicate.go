package verdict

import (
	"fmt"
	"slices"
)

const NoDuplicate = "no-duplicate"

func init() {
	register(Guarantee{
		Name: NoDuplicate, Rule: 9, Concerns: queues, promised: anyDelivery,
		Promise: "An item that was put once is delivered at most once with certainty.",
		Harm:    "The same work is done twice.",
		Help:    "an item that was put once was delivered twice, or was in the queue twice",
		check:   func(in *inputs) checker { return checker{finish: in.items.noDuplicate} },
	})
}

// noDuplicate checks for items that were delivered twice or stored twice by one put, of which the
// second copy will be delivered. Without commits an item whose put had no reply may be delivered
// more than once: there may be several copies of it (rule 10).
func (q *items) noDuplicate(end ending) Verdict {
	q.resolve()
	var broken evidence
	decided := q.commits != nil && q.commits.linked && q.commits.incomplete() == ""
	for _, i := range q.sorted() {
		switch {
		case i.maybe && !decided, i.put == 0 && end.cut:
		case i.before > 0:
			broken.add([]int{i.before, i.taken}, "item %q was delivered twice, records %d and %d", i.id, i.before, i.taken)
		case i.nodes.again > 0 && i.put > 0:
			broken.add([]int{i.put}, "item %q was put once (record %d), and its producer made two nodes of it, at zxid %#x and %#x",
				i.id, i.put, uint64(i.created), uint64(i.nodes.again))
		case i.recreated:
			broken.add([]int{i.taken}, "item %q was in the queue again after its delivery: a node with its data was created at zxid %#x",
				i.id, uint64(max(i.remade, i.created)))
		}
	}
	slices.SortFunc(q.again, func(a, b [2]int) int { return a[1] - b[1] })
	for _, at := range q.again {
		broken.add([]int{at[0], at[1]}, "one item was put again and delivered twice, records %d and %d", at[0], at[1])
	}
	if broken.count > 0 && q.delivery == AtLeastOnce {
		return pass(fmt.Sprintf("%d items came twice, as a delivery %s may", broken.count, q.delivery))
	}
	return q.verdict(broken, "duplicates")
}
