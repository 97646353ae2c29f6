package verdict

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

const NoOrphan = "no-orphan"

func init() {
	register(Guarantee{
		Name: NoOrphan, Rule: 7, Concerns: granting,
		Promise: "A node in line whose session lives belongs to a client that holds, or waits, by it.",
		Harm:    "Clients queued behind the node wait until its session expires.",
		Help:    "a node stayed behind that no client claims",
		check:   newNoOrphan,
	})
}

// orphans checks rule 7: a node in line whose session lives has an owner that claims it: that holds
// or waits with it. A client performs one operation at a time, so it can claim one node.
//
// There are few snapshots with few nodes: they are kept until the end, when all operations are
// known.
type orphans struct {
	leftovers *orphansByCommits // by the commits; nil without
	requeues  bool              // a client that has released joins the line again by itself
	snapshots int
	seen      []*inLine
	last      map[int]time.Duration // by client: return of the last operation in the records so far
	lines     map[string]bool       // kinds of the nodes of granted claims
	unseen    unseen
	broken    evidence
}

// unseen is, without commits, the part that was not observed: nodes of acquires that ended without a grant,
// in sessions that lived for longer than clean-up takes, and were then closed, which removes them.
type unseen struct {
	bound time.Duration
	gave  map[int]time.Duration // by client: when its last acquire ended so, in a live session
	gone  map[int]bool          // clients without a session
	away  map[int]bool          // clients without a connection: an observation cannot attribute their nodes
	count int
}

// inLine is a client's nodes in line in one snapshot.
type inLine struct {
	client    int
	asked, at time.Duration
	nodes     []history.SnapshotNode
	record    int
	claimed   bool // it held, waited or released at some time of the snapshot
}

func newNoOrphan(in *inputs) checker {
	o := &orphans{requeues: in.promises.Requeues, last: map[int]time.Duration{}, lines: map[string]bool{},
		unseen: unseen{bound: max(cleanUp, in.history.Timeout), gave: map[int]time.Duration{}, gone: map[int]bool{}, away: map[int]bool{}}}
	if in.line != nil {
		o.leftovers = newLeftovers(in)
	}
	c := checker{record: o.record, belief: o.belief, finish: o.finish}
	if o.leftovers != nil {
		c.commit = o.leftovers.commit
	}
	return c
}

func (o *orphans) record(n history.Numbered) {
	if o.leftovers != nil {
		o.leftovers.record(n)
	}
	switch r := n.Record.(type) {
	case *history.Snapshot:
		o.snapshot(r, n.N)
		o.unseen.looked(r.Asked)
	case *history.Session:
		o.unseen.session(r)
	case *history.Sample:
		if r.Op == history.Acquire && o.leftovers == nil && !o.requeues {
			o.unseen.acquired(r)
		}
		if r.Op == history.Acquire || r.Op == history.Release {
			o.last[r.Client] = max(o.last[r.Client], r.Return)
			o.claim(r.Client, r.Call, r.Return)
		}
		if r.Op == history.Acquire && r.Outcome == history.OK && r.Path != "" {
			o.lines[kind(r.Path)] = true
		}
	}
}

func (u *unseen) acquired(s *history.Sample) {
	if s.Outcome == history.OK { // a leftover node would have blocked it, or was taken over
		delete(u.gave, s.Client)
	} else if !u.gone[s.Client] {
		u.gave[s.Client] = s.Return
	}
}

// looked records that the line was observed from that time on.
func (u *unseen) looked(asked time.Duration) {
	maps.DeleteFunc(u.gave, func(client int, at time.Duration) bool { return at <= asked && !u.away[client] })
}

func (u *unseen) session(e *history.Session) {
	switch e.Event {
	case history.Opened:
		u.gone[e.Client], u.away[e.Client] = false, false
	case history.Suspended:
		u.away[e.Client] = true
	case history.Restored:
		u.away[e.Client] = false
	case history.Expired, history.Killed: // the servers remove its nodes
		u.gone[e.Client] = true
	case history.Lost, history.Closed:
		if at, gave := u.gave[e.Client]; gave && e.At-at > u.bound {
			u.count++
		}
		u.gone[e.Client] = true
	default:
		return
	}
	if u.gone[e.Client] {
		delete(u.gave, e.Client)
	}
}

func (o *orphans) snapshot(s *history.Snapshot, record int) {
	o.snapshots++
	first := len(o.seen)
	for _, n := range s.Nodes {
		if n.Client < 0 {
			continue
		}
		i := slices.IndexFunc(o.seen[first:], func(k *inLine) bool { return k.client == n.Client })
		if i < 0 {
			i = len(o.seen) - first
			o.seen = append(o.seen, &inLine{client: n.Client, asked: s.Asked, at: s.At, record: record, claimed: o.last[n.Client] >= s.Asked})
		}
		o.seen[first+i].nodes = append(o.seen[first+i].nodes, n)
	}
}

// belief is the time in which a holder claims its node. A suspended one may be restored.
func (o *orphans) belief(b Belief) { o.claim(b.Client, b.Call, b.End) }

// claim records that a client could claim a node in [from, to].
func (o *orphans) claim(client int, from, to time.Duration) {
	for _, k := range o.seen {
		if k.client == client && from <= k.at && to >= k.asked {
			k.claimed = true
		}
	}
}

// inLine reports whether a node is like the nodes of granted claims. Without grants, any may be in
// line.
func (o *orphans) inLine(at string) bool { return len(o.lines) == 0 || o.lines[kind(at)] }

func (o *orphans) finish(end ending) Verdict {
	if o.leftovers != nil {
		if !end.cut {
			o.leftovers.finish(end.at)
		}
		// After an unread removal a node seems to exist.
		if o.leftovers.broken.count > 0 && o.leftovers.line.incomplete() == "" {
			return o.leftovers.broken.fail("orphans")
		}
	}
	if !end.cut { // otherwise any other client may wait
		for _, k := range o.seen {
			o.judge(k)
		}
	}
	if o.broken.count > 0 {
		return o.broken.fail("orphans")
	}
	return o.sound()
}

// judge checks the nodes of a client in a snapshot: a client with a claim, or that joins the line
// again by itself, needs one.
func (o *orphans) judge(k *inLine) {
	allowed := 0
	if k.claimed || o.requeues {
		allowed = 1
	}
	k.nodes = slices.DeleteFunc(k.nodes, func(n history.SnapshotNode) bool { return !o.inLine(n.Path) })
	if len(k.nodes) <= allowed {
		return
	}
	n := k.nodes[0]
	if allowed == 1 {
		o.broken.add([]int{k.record},
			"client %d had %d nodes in line from %v to %v (record %d), and can have use for one: %s and others of its session %#x",
			k.client, len(k.nodes), k.asked, k.at, k.record, n.Path, uint64(n.Session))
		return
	}
	o.broken.add([]int{k.record},
		"client %d neither held nor waited from %v to %v, but its node %s was in line (record %d): its session %#x is alive, so the node stays and blocks every waiter behind it",
		k.client, k.asked, k.at, n.Path, k.record, uint64(n.Session))
}

// sound is the verdict if nothing was found, as far as anything could be observed.
func (o *orphans) sound() Verdict {
	l := o.leftovers
	switch {
	case l != nil && l.line.incomplete() != "":
		return unknown(l.line.incomplete())
	case l != nil && l.judged > 0:
		return pass(fmt.Sprintf("%d acquires and releases left nothing in line, by the servers' commits", l.judged))
	case l != nil && l.requeues:
		return pass("no client had two nodes in line for long; clients rejoin by themselves, so a single node is not an orphan")
	case l != nil && o.snapshots == 0:
		return unknown("no client released, and there is no snapshot of the line")
	case o.snapshots == 0:
		return notJudged("there are no commits, and no snapshot of the line")
	case l == nil && o.unseen.count > 0:
		return unknown(fmt.Sprintf("there are no transaction logs, and the tree was not checked for nodes left by an acquire without a grant before %s closed", units.Plural(o.unseen.count, "session")))
	}
	return pass(fmt.Sprintf("the line was observed %d times", o.snapshots))
}
