package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// orphans checks [NoOrphan]: a node in line whose session is alive belongs to a client that claims it: that
// holds or waits with it. A client performs one operation at a time, so it can claim one node.
//
// There are few snapshots with few nodes: they are kept until the end, when all operations are
// known.
type orphans struct {
	byCommits  *orphansByCommits // by the commits; nil without
	requeues   bool              // a client that has released joins the line again by itself
	snapshots  int
	seen       []*inLine
	last       map[int]time.Duration // by client: return of the last operation in the records so far
	lines      map[string]bool       // kinds of the nodes of granted claims
	unobserved unobserved
	broken     evidence
}

// unobserved counts, without commits, sessions that may have had an orphan that no snapshot shows: an acquire
// ended without a grant, and the session was closed, which removes its nodes, later than clean-up takes.
type unobserved struct {
	bound          time.Duration
	failedAcquires map[int]time.Duration // by client: when its last acquire ended without a grant, in a live session
	gone           map[int]bool          // clients without a session
	disconnected   map[int]bool          // clients without a connection: an observation cannot attribute their nodes
	count          int
}

// inLine is a client's nodes in line in one snapshot.
type inLine struct {
	client      int
	askedAt, at time.Duration
	nodes       []history.SnapshotNode
	record      int
	claimed     bool // the client held, waited or released during the snapshot
}

func newNoOrphan(in *inputs) checker {
	o := &orphans{requeues: in.promises.Requeues, last: map[int]time.Duration{}, lines: map[string]bool{},
		unobserved: unobserved{bound: max(cleanUp, in.history.Timeout), failedAcquires: map[int]time.Duration{}, gone: map[int]bool{}, disconnected: map[int]bool{}}}
	if in.commits != nil {
		o.byCommits = newOrphansByCommits(in)
	}
	return checker{record: o.record, belief: o.belief, commit: o.byCommits.commit, finish: o.finish}
}

func (o *orphans) record(n history.Numbered) {
	if o.byCommits != nil {
		o.byCommits.record(n)
	}
	switch r := n.Record.(type) {
	case *history.Snapshot:
		o.snapshot(r, n.N)
		o.unobserved.observed(r.Asked)
	case *history.Session:
		o.unobserved.session(r)
	case *history.Sample:
		if r.Op == history.Acquire && o.byCommits == nil && !o.requeues {
			o.unobserved.acquired(r)
		}
		if r.Op == history.Acquire || r.Op == history.Release {
			o.last[r.Client] = max(o.last[r.Client], r.Return)
			o.claim(r.Client, r.Call, r.Return)
		}
		if r.Op == history.Acquire && r.Outcome == history.OK && r.Path != "" {
			o.lines[facts.NodeKind(r.Path)] = true
		}
	}
}

func (u *unobserved) acquired(s *history.Sample) {
	if s.Outcome == history.OK { // a leftover node would have blocked it, or was taken over
		delete(u.failedAcquires, s.Client)
	} else if !u.gone[s.Client] {
		u.failedAcquires[s.Client] = s.Return
	}
}

// observed records that the line was observed from that time on.
func (u *unobserved) observed(asked time.Duration) {
	maps.DeleteFunc(u.failedAcquires, func(client int, at time.Duration) bool { return at <= asked && !u.disconnected[client] })
}

func (u *unobserved) session(e *history.Session) {
	switch e.Event {
	case history.Opened:
		u.gone[e.Client], u.disconnected[e.Client] = false, false
	case history.Suspended:
		u.disconnected[e.Client] = true
	case history.Restored:
		u.disconnected[e.Client] = false
	case history.Expired, history.Killed: // the servers remove its nodes
		u.gone[e.Client] = true
	case history.Lost, history.Closed:
		if at, failed := u.failedAcquires[e.Client]; failed && e.At-at > u.bound {
			u.count++
		}
		u.gone[e.Client] = true
	default:
		return
	}
	if u.gone[e.Client] {
		delete(u.failedAcquires, e.Client)
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
			o.seen = append(o.seen, &inLine{client: n.Client, askedAt: s.Asked, at: s.At, record: record, claimed: o.last[n.Client] >= s.Asked})
		}
		o.seen[first+i].nodes = append(o.seen[first+i].nodes, n)
	}
}

// belief records the time in which a holder claims its node. A suspended holder may be restored.
func (o *orphans) belief(b facts.Belief) { o.claim(b.Client, b.Call, b.End) }

func (o *orphans) claim(client int, from, to time.Duration) {
	for _, k := range o.seen {
		if k.client == client && from <= k.at && to >= k.askedAt {
			k.claimed = true
		}
	}
}

// inLine reports whether a node is like the nodes of granted claims. Without grants, any may be in
// line.
func (o *orphans) inLine(at string) bool { return len(o.lines) == 0 || o.lines[facts.NodeKind(at)] }

func (o *orphans) finish(end ending) Verdict {
	if o.byCommits != nil {
		if !end.truncated {
			o.byCommits.finish(end.at)
		}
		// If commits are missing, a removed node may seem to exist.
		if o.byCommits.broken.Count > 0 && o.byCommits.commits.IncompleteReason() == "" {
			return o.byCommits.broken.Fail("orphans")
		}
	}
	if !end.truncated { // otherwise any other client may wait
		for _, k := range o.seen {
			o.judge(k)
		}
	}
	if o.broken.Count > 0 {
		return o.broken.Fail("orphans")
	}
	l := o.byCommits
	switch { // no orphan was found: the verdict depends on how much was observed
	case l != nil && l.commits.IncompleteReason() != "":
		return unknown(l.commits.IncompleteReason())
	case l != nil && l.judged > 0:
		return pass(fmt.Sprintf("%d acquires and releases left nothing in line, by the servers' commits", l.judged))
	case l != nil && l.requeues:
		return pass("no client had two nodes in line for long; clients rejoin by themselves, so a single node is not an orphan")
	case l != nil && o.snapshots == 0:
		return unknown("no client released its grant, and there is no snapshot of the line")
	case o.snapshots == 0:
		return notJudged("there are neither commits nor snapshots of the line")
	case l == nil && o.unobserved.count > 0:
		return unknown(fmt.Sprintf("there are no transaction logs, and the tree was not checked before %s closed: an acquire without a grant may have left a node behind", units.Plural(o.unobserved.count, "session")))
	}
	return pass(fmt.Sprintf("the line was observed %d times", o.snapshots))
}

// judge checks the nodes of a client in a snapshot: a client that claims a node, or joins the line
// again by itself, may have one.
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
		o.broken.Add([]int{k.record},
			"client %d had %d nodes in line from %v to %v (record %d), but needs only one: %s and others of its session %#x",
			k.client, len(k.nodes), k.askedAt, k.at, k.record, n.Path, uint64(n.Session))
		return
	}
	o.broken.Add([]int{k.record},
		"client %d neither held nor waited from %v to %v, but its node %s was in line (record %d): its session %#x is alive, and the node keeps its place until the session ends",
		k.client, k.askedAt, k.at, n.Path, k.record, uint64(n.Session))
}

// cleanUp bounds the time that a recipe needs to remove a released node: some do it in the
// background. The node of an acquire that ended without a grant may exist for a session timeout.
const cleanUp = 2 * time.Second

// orphansByCommits checks [NoOrphan] with the servers' commits, in every phase.
//
//   - A release returned ok: the node is deleted.
//   - An acquire reached its time limit or was cancelled: its node is deleted too.
//   - An acquire failed, or its outcome is unknown: its node is deleted too, unless the client's
//     next acquire takes it over.
//   - A client that holds or waits needs one node: of two in the same line the older
//     is deleted, unless the younger was deleted before it, or is not the granted one.
//
// A node has a time limit, in which its session lives and no fault keeps its client from removing
// it. Commits have no time: that a node still exists is seen at the end of an operation with a
// commit of its own before the node's removal.
//
// Nodes unlike the nodes of granted claims are in no line. For a subject that joins the line again
// by itself, only the last rule is evaluated.
type orphansByCommits struct {
	commits        *facts.NodeTable
	grants         *facts.Grants
	requeues       bool
	bound          time.Duration       // for a node of an acquire without a grant
	members        facts.Spans         // faults that affected members, with the time to recover
	hits           map[int]facts.Spans // by client: faults that affected it
	sessions       map[int64]*owner
	lost           map[request]time.Duration // when requests were sent that may have created a node, and whose replies were lost
	failedAcquires map[int]failedAcquire     // by client: its last acquire that ended without a grant
	claimed        []*facts.Node             // of the first grants
	suspects       []*suspectNode
	now            time.Duration
	judged         int
	broken         evidence
}

// createRequests are the requests that create nodes, as named on the wire.
var createRequests = []string{"create", "create2", "createContainer", "createTTL", "multi"}

// claimedLimit is the number of grants that are kept to recognize the nodes of a line.
const claimedLimit = 32

// request identifies a request on the wire.
type request struct {
	session int64
	cxid    int32
}

type owner struct {
	client int
	ended  time.Duration // when the client was notified of its end, or closed it; 0: it lives
	record int           // of that event
}

type failedAcquire struct {
	at     time.Duration
	record int
}

type suspectNode struct {
	*facts.Node
	owner  *owner
	since  time.Duration
	bound  time.Duration // how long its node may exist after that
	why    string
	record int
	failed bool // its acquire failed, but did not give up: the next one may take it over
	behind bool // suspected only because its client also waits with a younger node
}

func newOrphansByCommits(in *inputs) *orphansByCommits {
	o := &orphansByCommits{
		commits: in.commits, grants: in.grants, requeues: in.promises.Requeues, bound: max(cleanUp, in.history.Timeout),
		hits: map[int]facts.Spans{}, sessions: map[int64]*owner{},
		lost: map[request]time.Duration{}, failedAcquires: map[int]failedAcquire{},
	}
	for _, l := range in.history.Lost {
		if slices.Contains(createRequests, l.Request) {
			o.lost[request{l.Session, l.Cxid}] = l.Sent
		}
	}
	for _, f := range in.history.Faults {
		switch {
		case f.Fault == "cancel" || f.Fault == "timeout": // these do not prevent the client from removing its node
		case f.Client >= 0:
			o.hits[f.Client] = append(o.hits[f.Client], facts.Span{From: f.Start, To: facts.AddSaturating(facts.FaultEnd(f), cleanUp)})
		default:
			o.members = append(o.members, facts.Span{From: f.Start, To: facts.AddSaturating(facts.FaultEnd(f), facts.MaxDetection(in.history))})
		}
	}
	return o
}

// free reports whether the client had enough time to remove its node.
func (o *orphansByCommits) free(x *suspectNode, until time.Duration) bool {
	faults := facts.Union(slices.Concat(o.members, o.hits[x.owner.client]))
	_, free := faults.FindGap(x.since, until, x.bound)
	return free
}

// commit finds a second node of one client in the line. Commits come before the first record of a
// client that may know of them, so it exists from the next record on, at the latest.
func (o *orphansByCommits) commit(c *history.Commit) {
	if c.Op != history.CommitCreate || !c.Ephemeral {
		return
	}
	all := o.commits.OwnedBy(c.Session)
	o.suspectLostCreate(c, all)
	for _, n := range all[:max(0, len(all)-1)] {
		if n.Sequential() && n.Czxid < c.Zxid && facts.SameLine(n, all[len(all)-1]) {
			if x := o.suspect(n, -1, o.bound, "its client had another node in line, "+c.Path, 0, false); x != nil {
				x.behind = true
			}
		}
	}
}

// suspectLostCreate suspects a node whose client never received the reply to its create, and has ended its
// acquire by then.
func (o *orphansByCommits) suspectLostCreate(c *history.Commit, all []*facts.Node) {
	sent, lost := o.lost[request{c.Session, c.Cxid}]
	own := o.sessions[c.Session]
	if !lost || own == nil || len(all) == 0 || all[len(all)-1].Czxid != c.Zxid {
		return
	}
	if g, ended := o.failedAcquires[own.client]; ended && sent <= g.at {
		o.suspect(all[len(all)-1], g.at, o.bound, "its acquire had ended without a grant", g.record, true)
	}
}

func (o *orphansByCommits) record(n history.Numbered) {
	o.now = max(o.now, n.Time())
	switch r := n.Record.(type) {
	case *history.Session:
		switch r.Event {
		case history.Opened:
			o.sessions[r.Session] = &owner{client: r.Client}
		case history.Lost, history.Expired, history.Closed, history.Killed:
			if s := o.sessions[r.Session]; s != nil && s.ended == 0 {
				s.ended, s.record = r.At, n.N
			}
		}
	case *history.Sample:
		switch {
		case r.Op == history.Acquire && r.Outcome == history.OK:
			o.granted(o.grants.Last(n.N), r)
		case o.requeues:
		case r.Op == history.Release && r.Outcome == history.OK:
			o.released(r, n.N)
		case r.Op == history.Acquire:
			o.acquireFailed(r, n.N)
		}
		o.check(r, n.N)
	}
}

// suspect adds a suspect and returns it; nil if the node is suspected already, or its client is unknown.
func (o *orphansByCommits) suspect(n *facts.Node, since, bound time.Duration, why string, record int, failed bool) *suspectNode {
	own := o.sessions[n.Session]
	if own == nil || o.suspected(n) != nil {
		return nil
	}
	x := &suspectNode{Node: n, owner: own, since: since, bound: bound, why: why, record: record, failed: failed}
	o.suspects = append(o.suspects, x)
	return x
}

// suspected returns the suspect for a node, or nil.
func (o *orphansByCommits) suspected(n *facts.Node) *suspectNode {
	i := slices.IndexFunc(o.suspects, func(x *suspectNode) bool { return x.Node == n })
	if i < 0 {
		return nil
	}
	return o.suspects[i]
}

func (o *orphansByCommits) released(s *history.Sample, record int) {
	o.judged++
	session := cmp.Or(s.Session, o.grants.Current[s.Client])
	for _, n := range o.commits.OwnedBy(session) {
		if (n.Path == s.Path || s.Path == "") && n.Czxid <= s.Zxid {
			o.suspect(n, s.Return, cleanUp, "it was released successfully", record, false)
		}
	}
}

// granted clears the node of the client's grant, and suspects the client's other nodes in the same line.
func (o *orphansByCommits) granted(g *facts.Grant, s *history.Sample) {
	n := g.Node
	delete(o.failedAcquires, g.Client) // the outcome of its earlier request is known by now
	if n == nil {
		return
	}
	if len(o.claimed) < claimedLimit {
		o.claimed = append(o.claimed, n)
	}
	if x := o.suspected(n); x != nil && !x.failed { // taken over, although its acquire had given up
		o.judge(x, s.Call, g.Record)
	}
	if len(o.suspects) > 0 {
		o.suspects = slices.DeleteFunc(o.suspects, func(x *suspectNode) bool { return x.Node == n })
	}
	if all := n.SessionNodes.Existing; len(all) > 1 {
		for _, other := range all {
			if other == n || !other.Sequential() || !facts.SameLine(other, n) {
				continue
			}
			if x := o.suspected(other); x != nil {
				x.behind = false // the client does not wait with it
			}
			o.suspect(other, s.Return, o.bound, "its client was granted with another node, "+n.Path, g.Record, false)
		}
	}
}

// acquireFailed suspects the client's nodes in line after its acquire has ended without a grant.
func (o *orphansByCommits) acquireFailed(s *history.Sample, record int) {
	o.judged++
	o.failedAcquires[s.Client] = failedAcquire{s.Return, record}
	gaveUp := s.Outcome == history.Failed && (s.TimedOut || s.Canceled)
	for _, n := range o.commits.OwnedBy(o.grants.Current[s.Client]) {
		switch x := o.suspected(n); {
		case x == nil:
			o.suspect(n, s.Return, o.bound, "its acquire had ended without a grant", record, !gaveUp)
		case n.SessionNodes.Youngest == n:
			if !x.failed {
				o.judge(x, s.Call, record)
			}
			x.since, x.failed = s.Return, !gaveUp // that acquire may have waited with it
		default:
			x.behind = false // the client does not wait with it
		}
	}
}

func (o *orphansByCommits) check(s *history.Sample, record int) {
	if len(o.suspects) == 0 {
		return
	}
	committed := s.Outcome == history.OK && (s.Op == history.Acquire || s.Op == history.Release)
	kept := o.suspects[:0]
	for _, x := range o.suspects {
		if x.since < 0 {
			x.since, x.record = o.now, record
		}
		if x.behind && x.RemovedZxid == 0 && !x.hasYounger() {
			continue // the client may wait with it
		}
		another := x.SessionNodes.Youngest != x.Node // the client has waited with another node since
		switch {
		case x.RemovedZxid != 0 && !x.RemovedWithSession(): // it was deleted
		case x.RemovedZxid != 0 && x.Removal == facts.ByExpiry: // its client was disconnected and could not remove it
		case x.RemovedWithSession() && x.owner.ended > 0:
			o.judge(x, x.owner.ended, x.owner.record)
		case x.RemovedZxid == 0 && committed && (another || !x.failed) && o.judge(x, s.Call, record):
		default:
			kept = append(kept, x)
		}
	}
	o.suspects = kept
}

// hasYounger reports whether the node's session has a younger one in the same line.
func (x *suspectNode) hasYounger() bool {
	return slices.ContainsFunc(x.SessionNodes.Existing, func(n *facts.Node) bool { return n.Czxid > x.Czxid && n.Sequential() && facts.SameLine(n, x.Node) })
}

// judge reports a node that existed too long. The record seen shows that it existed at until.
func (o *orphansByCommits) judge(x *suspectNode, until time.Duration, seen int) bool {
	if x.since < 0 || !o.inLine(x.Node) || !o.free(x, until) {
		return false
	}
	o.broken.Add([]int{x.record, seen}, "node %s (czxid %#x) of client %d still existed at %v, %v after %s (record %d), while its session %#x was alive: the node keeps its place until the session ends",
		x.Path, uint64(x.Czxid), x.owner.client, until, (until - x.since).Round(time.Millisecond), x.why, x.record, uint64(x.Session))
	return true
}

// inLine reports whether a node is like the nodes of granted claims. Without grants, it is a node with a
// number.
func (o *orphansByCommits) inLine(n *facts.Node) bool {
	if len(o.claimed) == 0 {
		return n.Sequential()
	}
	return slices.ContainsFunc(o.claimed, func(c *facts.Node) bool { return facts.SameKind(c, n) })
}

// finish checks nodes that existed until their session ended.
func (o *orphansByCommits) finish(end time.Duration) {
	for _, x := range o.suspects {
		until, seen := end, 0
		if x.owner.ended > 0 {
			until, seen = x.owner.ended, x.owner.record
		}
		if x.RemovedZxid == 0 || x.Removal == facts.ByClose && x.owner.ended > 0 {
			o.judge(x, until, seen)
		}
	}
}
