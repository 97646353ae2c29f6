package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const FIFO = "fifo"

func init() {
	register(Guarantee{
		Name: FIFO, Rule: 6, Concerns: granting,
		Promise: "Grants are given in the order in which the servers created the nodes in line.",
		Harm:    "Some overtake, and others may wait for ever.",
		Help:    "grants came in another order than their nodes were created",
		check:   newFIFO,
	})
}

// order judges rule 6: grants follow the order in which the server created
// their nodes, which is the order of the tokens. A grant whose session was
// already dying does not count: its node was gone, and it overtook nobody.
type order struct {
	faults  map[int][]history.Fault // by client
	after   time.Duration
	last    Belief // the grant with the highest token so far
	judged  int
	skipped int
	broken  evidence
}

func newFIFO(in *inputs) checker {
	o := &order{faults: faultsByClient(in.history), after: Patience(in.history)}
	return checker{belief: o.belief, finish: o.finish}
}

func (o *order) belief(b Belief) {
	if b.Token == 0 || b.Restored {
		return
	}
	o.judged++
	if b.Token >= o.last.Token {
		o.last = b
		return
	}
	if o.dying(b) {
		o.skipped++
		return
	}
	o.broken.add([]int{o.last.Record, b.Record},
		"client %d was granted token %d at %v (record %d), although client %d with the younger token %d had been let in before it, at %v (record %d)",
		b.Client, b.Token, b.Start, b.Record, o.last.Client, o.last.Token, o.last.Start, o.last.Record)
}

func (o *order) dying(b Belief) bool {
	if b.Ended != Released && b.Ended != AtEnd && b.Ended != string(history.Closed) {
		return true
	}
	for _, w := range o.faults[b.Client] {
		if w.Start <= b.Start && later(ended(w), o.after) >= b.Call {
			return true
		}
	}
	return false
}

func (o *order) finish(time.Duration) Verdict {
	switch {
	case o.broken.count > 0:
		return o.broken.fail("overtakings")
	case o.judged < 2:
		return unknown(fmt.Sprintf("%d grants with a token: an order needs two", o.judged))
	case o.skipped > 0:
		return pass(fmt.Sprintf("%d late grants of dying sessions do not count", o.skipped))
	}
	return pass()
}
