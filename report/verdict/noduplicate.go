package verdict

import (
	"maps"
	"slices"
	"time"
)

const NoDuplicate = "no-duplicate"

func init() {
	register(Guarantee{
		Name: NoDuplicate, Rule: 9, Concerns: queues,
		Promise: "An item that was put once is delivered at most once with certainty.",
		Harm:    "The same work is done twice.",
		Help:    "an item that was put once was delivered twice",
		check:   func(in *inputs) checker { return checker{finish: in.items.noDuplicate} },
	})
}

// noDuplicate lets an item whose put had no reply be delivered more than once:
// there may be several copies of it (rule 10).
func (q *items) noDuplicate(time.Duration) Verdict {
	q.resolve()
	var broken evidence
	for _, id := range slices.Sorted(maps.Keys(q.twice)) {
		if at := q.twice[id]; !q.states[id].maybe {
			broken.add([]int{at[0], at[1]}, "item %q was delivered twice, records %d and %d", id, at[0], at[1])
		}
	}
	slices.SortFunc(q.again, func(a, b [2]int) int { return a[1] - b[1] })
	for _, at := range q.again {
		broken.add([]int{at[0], at[1]}, "one item was put again and delivered twice, records %d and %d", at[0], at[1])
	}
	return q.verdict(broken, "duplicates")
}
