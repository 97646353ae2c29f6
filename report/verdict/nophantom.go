package verdict

import (
	"maps"
	"slices"
	"time"
)

const NoPhantom = "no-phantom"

func init() {
	register(Guarantee{
		Name: NoPhantom, Rule: 9, Concerns: queues,
		Promise: "Nobody takes an item that nobody has put.",
		Harm:    "Work is done that nobody asked for.",
		Help:    "an item was taken that nobody had put",
		check:   func(in *inputs) checker { return checker{finish: in.items.noPhantom} },
	})
}

func (q *items) noPhantom(time.Duration) Verdict {
	q.resolve()
	var broken evidence
	for _, id := range slices.Sorted(maps.Keys(q.states)) {
		if i := q.states[id]; i.put == 0 && i.taken > 0 {
			broken.add([]int{i.taken}, "item %q was taken (record %d) and never put", id, i.taken)
		}
	}
	return q.verdict(broken, "phantoms")
}
