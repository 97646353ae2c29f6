package verdict

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

const FIFO = "fifo"

func init() {
	register(Guarantee{
		Name: FIFO, Order: 6, Concerns: granting, promised: inOrder,
		Promise: "Grants are given in the order in which the servers created the nodes in line.",
		Harm:    "A newer waiter overtakes an older one, which can starve.",
		Help:    "grants were given in another order than their nodes were created",
		check:   newFIFO,
	})
}

// fifoChecker checks [FIFO]: grants follow the order in which the servers created their nodes, which is the
// order of the czxids, regardless of the numbers in the nodes' names. It uses the commits, or the
// tokens without commits.
//
// A grant whose node was removed with its session does not count: its client may have been granted
// when its node was already removed, and then it overtook no other. If commits are missing, that
// removal or the node of a grant may be missing too.
type fifoChecker struct {
	commits   *facts.NodeTable        // nil without
	grants    *facts.Grants           // looked up in commits; nil without
	exclusive bool                    // the subject promises exclusion
	faults    map[int][]history.Fault // by client
	after     time.Duration
	last      facts.Belief // the grant with the newest node so far
	czxid     int64        // of its node
	judged    int
	skipped   int
	// contended counts the grants that were requested while no permit was free for them; waited counts
	// how many of them had their node then, and queued how many had another node instead, as the candidates
	// of an election whose leader creates a node of its own.
	contended, waited, queued int
	queue                     int64           // largest czxid of such another node so far
	outOfOrder                int             // grants that did not follow the order of these
	permits                   int             // if more than 1, the order of grants proves nothing
	recent                    []facts.Belief  // the last grants whose nodes are in the commits
	unseen                    int             // grants whose node is not in the commits
	granted                   map[string]bool // by mode in which a client was granted or waited: whether one was granted
	broken                    evidence
}

func newFIFO(in *inputs) checker {
	o := &fifoChecker{commits: in.commits, grants: in.grants, permits: facts.Permits(in.history.Header), exclusive: in.promises.Exclusive, faults: facts.FaultsByClient(in.history), after: facts.MaxDetection(in.history), granted: map[string]bool{}}
	if o.permits > 1 && o.grants != nil {
		o.grants.OnPassed = func(g *facts.Grant, ahead []*facts.Node) {
			o.broken.Add([]int{g.Record}, "client %d was granted with node %s (czxid %#x, record %d), although its node conflicts with %s that existed all the time (the oldest is %s)",
				g.Client, g.Node.Path, uint64(g.Node.Czxid), g.Record, units.Plural(len(ahead), "older node"), ahead[0].Path)
		}
	}
	return checker{record: func(n history.Numbered) {
		if w, ok := waitOf(n); ok && w.op == history.Acquire && (w.granted || w.to-w.from > joinWait) {
			o.granted[w.mode] = o.granted[w.mode] || w.granted
		}
	}, belief: o.belief, finish: o.finish}
}

func (o *fifoChecker) belief(b facts.Belief) {
	czxid := b.Token
	if b.Grant != nil {
		czxid = 0
		if n := b.Grant.Node; n != nil && !b.Grant.Unsure {
			czxid = n.Czxid
		} else if n == nil && !b.Restored {
			o.unseen++
		}
	}
	if czxid == 0 || b.Restored || b.OwnToken && b.Grant == nil {
		return
	}
	o.judged++
	o.countWaiting(b, czxid)
	if o.permits > 1 {
		return
	}
	if czxid >= o.czxid {
		o.last, o.czxid = b, czxid
		return
	}
	if o.isEnding(b) {
		o.skipped++
		return
	}
	o.broken.Add([]int{o.last.Record, b.Record},
		"client %d was granted token %d at %v (record %d), although client %d with the newer token %d had been granted before it, at %v (record %d)",
		b.Client, czxid, b.Start, b.Record, o.last.Client, o.czxid, o.last.Start, o.last.Record)
}

// recentGrants is the number of past grants that are searched for the holders that a client waited for.
const recentGrants = 64

// countWaiting counts whether the client of a grant waited, and which of its nodes existed while it did.
// Only commits show when a node was created.
func (o *fifoChecker) countWaiting(b facts.Belief, czxid int64) {
	if b.Grant == nil || b.Grant.Node == nil {
		return
	}
	queuedCzxid := b.Grant.Node.Queued
	total, hadNode, queued := b.Permits, false, false
	for _, r := range o.recent {
		if r.End > b.Call && r.Client != b.Client {
			removed := r.Grant.Node.RemovedZxid
			total, hadNode = total+r.Permits, hadNode || removed == 0 || czxid < removed
			queued = queued || queuedCzxid != 0 && (removed == 0 || queuedCzxid < removed)
		}
	}
	if total > o.permits {
		o.contended++
		switch {
		case hadNode:
			o.waited++
		case queued:
			o.queued++
		}
	}
	if queuedCzxid != 0 && queuedCzxid < o.queue && !o.isEnding(b) {
		o.outOfOrder++
	}
	o.queue = max(o.queue, queuedCzxid)
	if o.recent = append(o.recent, b); len(o.recent) > recentGrants {
		o.recent = slices.Delete(o.recent, 0, 1)
	}
}

// fewWaits is the number of contended grants below which faults alone may have kept the waiters
// from creating their nodes in time.
const fewWaits = 8

func (o *fifoChecker) isEnding(b facts.Belief) bool {
	if b.Grant != nil {
		return b.Grant.Node.RemovedWithSession()
	}
	if b.EndReason != facts.Released && b.EndReason != facts.AtEnd && b.EndReason != string(history.Closed) {
		return true
	}
	for _, w := range o.faults[b.Client] {
		if w.Start <= b.Start && facts.AddSaturating(facts.FaultEnd(w), o.after) >= b.Call {
			return true
		}
	}
	return false
}

func (o *fifoChecker) finish(ending) Verdict {
	why := o.commits.IncompleteReason()
	switch {
	case o.permits > 1 && o.commits == nil:
		return unknown("without transaction logs, it is unknown which nodes were ahead of a grant")
	case why != "" && o.broken.Count > 0:
		return unknown("either a grant overtook another, or the commit of a session's end is missing: " + why)
	case why != "" && o.unseen > 0:
		return unknown(fmt.Sprintf("the commits do not contain the node of %s, so the order is unknown: %s", units.Plural(o.unseen, "grant"), why))
	case o.broken.Count > 0 && o.exclusive:
		return o.broken.Fail("overtakings")
	case !o.exclusive:
		return unknown("the subject does not promise exclusion: several clients may hold a grant at once, so it is unknown which grants overtook an older waiter")
	case o.contended >= fewWaits && 2*o.waited < o.contended && o.permits == 1 && 2*(o.waited+o.queued) >= o.contended && o.outOfOrder == 0:
		return pass("the granted nodes are created at the grant: the order is that of the nodes with which their clients waited")
	case o.contended >= fewWaits && 2*o.waited < o.contended && o.queued > 0:
		return unknown(fmt.Sprintf("%d of %d clients waited with another node than the one with which they were granted, and %s did not follow the order of those nodes: it is unknown which nodes decide the order",
			o.queued, o.contended, units.Plural(o.outOfOrder, "grant")))
	case o.contended >= fewWaits && 2*o.waited < o.contended:
		return unknown(fmt.Sprintf("%d of %d clients that waited had no node while they waited: nodes are created at the grant, so their order does not show how long a client waited",
			o.contended-o.waited, o.contended))
	case o.judged < 2:
		return unknown(fmt.Sprintf("only %d grants had a token, but a comparison needs two", o.judged))
	case slices.Contains(slices.Collect(maps.Values(o.granted)), false):
		return unknown("clients waited in a mode in which none was granted: it is unknown which nodes are claims in that mode, and whether later ones overtook them")
	case o.permits > 1 && o.commits.Ambiguous:
		return unknown(ambiguousNames)
	case o.skipped > 0:
		return pass(fmt.Sprintf("%d late grants of ending sessions were not counted", o.skipped))
	}
	return pass()
}
