package verdict

const NoPhantom = "no-phantom"

func init() {
	register(Guarantee{
		Name: NoPhantom, Rule: 9, Concerns: queues,
		Promise: "Each item was put before it is taken.",
		Harm:    "Work is done that was never requested.",
		Help:    "an item was taken that was never put",
		check:   func(in *inputs) checker { return checker{finish: in.items.noPhantom} },
	})
}

// noPhantom allows a take of an item whose put has not returned, if the commits show its node.
func (q *items) noPhantom(end ending) Verdict {
	q.resolve()
	var broken evidence
	for _, i := range q.sorted() {
		switch {
		case i.taken == 0 || i.put > 0:
		case i.failed:
			broken.add([]int{i.taken}, "item %q was taken (record %d) and never put: its put had failed", i.id, i.taken)
		case i.made == 0 && !end.cut:
			broken.add([]int{i.taken}, "item %q was taken (record %d) and never put", i.id, i.taken)
		}
	}
	return q.verdict(broken, "phantoms")
}
