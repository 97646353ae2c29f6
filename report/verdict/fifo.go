package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

const FIFO = "fifo"

func init() {
	register(Guarantee{
		Name: FIFO, Rule: 6, Concerns: granting, promised: inOrder,
		Promise: "Grants are given in the order in which the servers created the nodes in line.",
		Harm:    "A newer waiter overtakes an older one, which can starve.",
		Help:    "grants came in another order than their nodes were created",
		check:   newFIFO,
	})
}

// order checks rule 6: grants follow the order in which the servers created their nodes: that of
// the czxids, regardless of the numbers in their names. By the commits, or by the tokens without
// commits.
//
// A grant whose node was removed with its session does not count: its client may have been granted
// when its node was already removed, and then it overtook no other. If commits are missing, that
// removal or a grant's node may be too.
type order struct {
	line      *nodeTable              // by the commits; nil without
	exclusive bool                    // the subject promises it
	faults    map[int][]history.Fault // by client
	after     time.Duration
	last      Belief // the grant with the newest node so far
	czxid     int64  // of its node
	judged    int
	skipped   int
	// contended counts the grants that were requested while the one before was held, and waited
	// the clients whose node existed then.
	contended, waited int
	unseen            int // grants whose node is not in the commits
	broken            evidence
}

func newFIFO(in *inputs) checker {
	o := &order{line: in.line, exclusive: in.promises.Exclusive, faults: faultsByClient(in.history), after: MaxDetection(in.history)}
	return checker{belief: o.belief, finish: o.finish}
}

func (o *order) belief(b Belief) {
	czxid := b.Token
	if b.granted != nil {
		czxid = 0
		if n := b.granted.node; n != nil && !b.granted.unsure {
			czxid = n.czxid
		} else if n == nil && !b.Restored {
			o.unseen++
		}
	}
	if czxid == 0 || b.Restored || b.Own && b.granted == nil {
		return
	}
	o.judged++
	o.countWaiting(b, czxid)
	if czxid >= o.czxid {
		o.last, o.czxid = b, czxid
		return
	}
	if o.dying(b) {
		o.skipped++
		return
	}
	o.broken.add([]int{o.last.Record, b.Record},
		"client %d was granted token %d at %v (record %d), although client %d with the newer token %d had been granted before it, at %v (record %d)",
		b.Client, czxid, b.Start, b.Record, o.last.Client, o.czxid, o.last.Start, o.last.Record)
}

// countWaiting counts whether the client of a grant waited, and whether with its node. Only commits
// show when a node was created.
func (o *order) countWaiting(b Belief, czxid int64) {
	before := o.last.granted
	if b.granted == nil || before == nil || before.node == nil || b.Call >= o.last.End || o.last.Client == b.Client {
		return
	}
	o.contended++
	if before.node.gone == 0 || czxid < before.node.gone {
		o.waited++
	}
}

// fewWaits is the number of contended grants below which faults alone may have kept the waiters
// from creating their nodes in time.
const fewWaits = 8

func (o *order) dying(b Belief) bool {
	if b.granted != nil {
		return b.granted.node.withSession()
	}
	if b.Ended != Released && b.Ended != AtEnd && b.Ended != string(history.Closed) {
		return true
	}
	for _, w := range o.faults[b.Client] {
		if w.Start <= b.Start && later(Ended(w), o.after) >= b.Call {
			return true
		}
	}
	return false
}

func (o *order) finish(ending) Verdict {
	why := ""
	if o.line != nil {
		why = o.line.incomplete()
	}
	switch {
	case why != "" && o.broken.count > 0:
		return unknown("a grant that overtook another, or a session's end that is missing: " + why)
	case why != "" && o.unseen > 0:
		return unknown(fmt.Sprintf("the node of %s is not in the commits, and with it the order: %s", units.Plural(o.unseen, "grant"), why))
	case o.broken.count > 0 && o.exclusive:
		return o.broken.fail("overtakings")
	case !o.exclusive:
		return unknown("the subject does not promise exclusion: several clients may hold at once, so which of them may be granted before an older one is not known")
	case o.contended >= fewWaits && 2*o.waited < o.contended:
		return unknown(fmt.Sprintf("%d of %d clients that waited had no node while they waited: nodes are created at the grant, so their order does not show how long a client waited",
			o.contended-o.waited, o.contended))
	case o.judged < 2:
		return unknown(fmt.Sprintf("%d grants with a token: an order needs two", o.judged))
	case o.skipped > 0:
		return pass(fmt.Sprintf("%d late grants of dying sessions do not count", o.skipped))
	}
	return pass()
}
