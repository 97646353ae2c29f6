package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// orphans judges rule 7: a node in line whose session lives has an owner who claims
// it: who holds by it, or waits with it. A client does one thing at a time, so one
// node is all that it can claim.
//
// The lab's looks are few, and each sees few nodes: they are kept until the end, when
// all operations are known.
type orphans struct {
	looks  int
	seen   map[look]*sighted
	order  []look
	last   map[int]time.Duration // by client: return of the last operation in the records so far
	broken evidence
}

// look is one client at one look of the lab.
type look struct {
	client    int
	asked, at time.Duration
}

// sighted is what a client had in line at a look.
type sighted struct {
	nodes   []seenNode
	claimed bool // it held, waited or let go at some moment of the look
}

type seenNode struct {
	path    string
	session int64
	record  int
}

func newNoOrphan(h *history.History, s *seen) checker {
	o := &orphans{seen: map[look]*sighted{}, last: map[int]time.Duration{}}
	return checker{
		name: NoOrphan, applies: func() bool { return s.granting() && o.looks > 0 },
		record: o.record, belief: o.belief, finish: func(time.Duration) Verdict { return o.finish() },
	}
}

func (o *orphans) record(n history.Numbered) {
	switch {
	case n.Note != nil && n.Note.Kind == history.Looked:
		o.looks++
	case n.Note != nil && n.Note.Kind == history.Node && n.Note.Client >= 0:
		o.node(n.Note, n.N)
	case n.Sample != nil && (n.Sample.Op == history.Acquire || n.Sample.Op == history.Release):
		o.last[n.Sample.Client] = max(o.last[n.Sample.Client], n.Sample.Return)
		o.claim(n.Sample.Client, n.Sample.Call, n.Sample.Return)
	}
}

func (o *orphans) node(n *history.Note, record int) {
	at := look{n.Client, time.Duration(n.Counts[history.CountAsked]), n.At}
	for _, k := range o.order { // the notes of one look are written one after the other
		if k.client == at.client && k.asked == at.asked {
			at = k
		}
	}
	s := o.seen[at]
	if s == nil {
		s = &sighted{claimed: o.last[n.Client] >= at.asked}
		o.seen[at] = s
		o.order = append(o.order, at)
	}
	s.nodes = append(s.nodes, seenNode{n.Path, n.Session, record})
}

// belief is the time in which a holder claims its node. One that was suspended may
// come back to it.
func (o *orphans) belief(b Belief) { o.claim(b.Client, b.Call, b.End) }

// claim says that a client had use for a node in [from, to].
func (o *orphans) claim(client int, from, to time.Duration) {
	for _, k := range o.order {
		if k.client == client && from <= k.at && to >= k.asked {
			o.seen[k].claimed = true
		}
	}
}

func (o *orphans) finish() Verdict {
	for _, k := range o.order {
		s := o.seen[k]
		allowed := 0
		if s.claimed {
			allowed = 1
		}
		if len(s.nodes) <= allowed {
			continue
		}
		n := s.nodes[0]
		records := make([]int, len(s.nodes))
		for i, n := range s.nodes {
			records[i] = n.record
		}
		o.broken.add(func() string {
			if s.claimed {
				return fmt.Sprintf("client %d had %d nodes in line from %v to %v (records %v), and can have use for one: %s and others of its session %#x",
					k.client, len(s.nodes), k.asked, k.at, records, n.path, uint64(n.session))
			}
			return fmt.Sprintf("client %d neither held nor waited from %v to %v, and yet its node %s stood in line (record %d): its session %#x lives, so the node stays, and blocks all behind it",
				k.client, k.asked, k.at, n.path, n.record, uint64(n.session))
		}, records...)
	}
	switch {
	case o.broken.count > 0:
		return o.broken.fail("orphans")
	case o.looks == 0:
		return unknown("nobody looked at the line")
	}
	return pass(fmt.Sprintf("the lab looked at the line %d times", o.looks))
}
