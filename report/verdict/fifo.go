package verdict

import (
	"fmt"
	"slices"
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
	grants    *grants                 // looked up in them; nil without
	several   bool                    // several may hold at the same time: by the nodes that existed, not by the order of grants
	exclusive bool                    // the subject promises it
	faults    map[int][]history.Fault // by client
	after     time.Duration
	last      Belief // the grant with the newest node so far
	czxid     int64  // of its node
	judged    int
	skipped   int
	// contended counts the grants that were requested while no permit was free for them, and waited
	// the clients whose node existed then.
	contended, waited int
	permits           int
	recent            []Belief // the last ones in the commits
	unseen            int      // grants whose node is not in the commits
	broken            evidence
}

func newFIFO(in *inputs) checker {
	o := &order{line: in.line, grants: in.grants, several: Permits(in.history.Header) > 1, permits: Permits(in.history.Header), exclusive: in.promises.Exclusive, faults: faultsByClient(in.history), after: MaxDetection(in.history)}
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
	if o.several {
		return
	}
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

// recentGrants is the number of grants among which the holders are looked for that a client waited for.
const recentGrants = 64

// countWaiting counts whether the client of a grant waited, and whether with its node. Only commits
// show when a node was created.
func (o *order) countWaiting(b Belief, czxid int64) {
	if b.granted == nil || b.granted.node == nil {
		return
	}
	total, stood := b.Permits, false
	for _, r := range o.recent {
		if r.End > b.Call && r.Client != b.Client {
			gone := r.granted.node.gone
			total, stood = total+r.Permits, stood || gone == 0 || czxid < gone
		}
	}
	if total > o.permits {
		o.contended++
		if stood {
			o.waited++
		}
	}
	if o.recent = append(o.recent, b); len(o.recent) > recentGrants {
		o.recent = slices.Delete(o.recent, 0, 1)
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
	if o.several && o.grants != nil {
		o.broken = o.grants.passed
	}
	switch {
	case o.several && o.line == nil:
		return unknown("there are no transaction logs, which show the nodes that were ahead of a grant")
	case why != "" && o.broken.count > 0:
		return unknown("a grant overtook another, or the end of a session is missing: " + why)
	case why != "" && o.unseen > 0:
		return unknown(fmt.Sprintf("the node of %s is not in the commits, so the order is not known: %s", units.Plural(o.unseen, "grant"), why))
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

// grants looks every grant up in the servers' commits (rule 1).
type grants struct {
	line    *nodeTable
	inOrder bool           // the subject promises order and exclusion: only who is first in line is granted
	several bool           // several grants may be held at the same time: then an overtaking does not make a claim invalid
	passed  evidence       // overtakings, if several
	current map[int]int64  // by client: its current session
	open    []*granted     // whose commits have not all come
	newest  *granted       // recorded last
	judged  func(*granted) // receives each once its commits have come
}

type granted struct {
	client               int
	path, removed        string // removed: as Sample.Removed
	session, token, zxid int64
	own                  bool // the token is the subject's own number
	notified             bool // as Sample.Notified
	record               int

	node    *node  // of the claim; nil if no transaction created it
	wrong   string // why the grant is invalid; empty if it is valid
	missing bool   // an unread transaction might make it valid
	unsure  bool   // the client's knowledge or its node is ambiguous
}

func newGrants(l *nodeTable, p history.Promises) *grants {
	return &grants{line: l, inOrder: p.FIFO && p.Exclusive, several: Permits(l.header) > 1, current: map[int]int64{}, judged: func(*granted) {}}
}

func (a *grants) record(n history.Numbered) {
	if len(a.open) > 0 {
		a.judge(false)
	}
	switch r := n.Record.(type) {
	case *history.Session:
		if r.Event == history.Opened {
			a.current[r.Client] = r.Session
		}
	case *history.Sample:
		if r.Op != history.Acquire || r.Outcome != history.OK {
			return
		}
		g := &granted{client: r.Client, path: r.Path, removed: r.Removed, session: r.Session, token: r.Token, own: r.Own, notified: r.Notified, zxid: r.Zxid, record: n.N}
		if g.session == 0 {
			g.session = a.current[r.Client]
		}
		g.node, g.unsure = a.line.claimed(g)
		a.newest = g
		a.open = append(a.open, g)
		a.judge(false)
	}
}

func (a *grants) last(record int) *granted {
	if a.newest != nil && a.newest.record == record {
		return a.newest
	}
	return nil
}

// judge looks up the grants whose commits have come.
func (a *grants) judge(all bool) {
	later := a.open[:0]
	for _, g := range a.open {
		zxid, ok := a.line.known(g)
		switch {
		case ok || all:
			a.lookUp(g, zxid)
			a.judged(g)
		default:
			later = append(later, g)
		}
	}
	clear(a.open[len(later):])
	a.open = later
}

// claimed finds the node of a claim; without a name, the session's newest. unsure means that there
// are two.
func (l *nodeTable) claimed(g *granted) (n *node, unsure bool) {
	if g.zxid == 0 {
		return nil, true
	}
	if g.path == "" {
		n, sure := l.newest(g.session, g.zxid)
		return n, !sure
	}
	if n = l.find(g.path, g.token); n == nil { // another token, or none, does not mean another node
		if n = l.at(g.path, g.zxid); n != nil && n.session != g.session && g.token != 0 {
			n = nil
		}
	}
	return n, false
}

// known returns the last transaction of which the client is known to have known when it was granted. ok
// is false while the removal of which it was notified is not yet read, or the transaction of which
// it may have known.
func (l *nodeTable) known(g *granted) (zxid int64, ok bool) {
	if g.notified && l.last <= g.zxid {
		return g.zxid, false
	}
	if g.removed == "" || g.node == nil {
		return g.zxid, true
	}
	n := l.at(g.removed, g.node.czxid-1)
	switch {
	case n == nil:
		return g.zxid, true
	case n.gone == 0:
		return g.zxid, false
	}
	return max(g.zxid, n.gone), true
}

// lookUp checks a grant by the commits up to its client's knowledge.
func (a *grants) lookUp(g *granted, zxid int64) {
	n := g.node
	switch {
	case g.unsure:
	case n == nil && a.line.forgotten(g):
		g.unsure = true
	case n == nil && g.path == "":
		g.wrong, g.missing = "that session had no node", true
	case n == nil && a.line.persistent[g.path] != 0:
		g.wrong = fmt.Sprintf("that node is persistent (created in transaction %#x): it belongs to no session, and does not end with one", uint64(a.line.persistent[g.path]))
	case n == nil:
		g.wrong, g.missing = "no transaction created that node for that session", true
	case n.session != g.session:
		g.wrong = fmt.Sprintf("session %#x created that node", uint64(n.session))
	case a.inOrder && n.sequential():
		ahead := a.line.aheadOf(n, zxid)
		switch {
		case ahead == nil:
		case g.notified && a.line.aheadOf(n, zxid+1) == nil:
			g.unsure = true
		case a.several:
			a.passed.add([]int{g.record}, "client %d was granted by node %s (czxid %#x, record %d), although it conflicts with %s that existed all the time, the oldest of them %s",
				g.client, n.path, uint64(n.czxid), g.record, units.Plural(len(ahead), "older node"), ahead[0].path)
		default:
			g.missing = true
			g.wrong = fmt.Sprintf("the older node %s (czxid %#x) existed all the time", ahead[0].path, uint64(ahead[0].czxid))
		}
	}
	g.zxid = zxid
}

// forgotten reports whether the node of a claim may have been dropped from memory: its client came
// back late.
func (l *nodeTable) forgotten(g *granted) bool {
	return l.forgot > 0 && g.path != "" && (g.own || g.token <= l.forgot)
}

func (g *granted) valid() bool { return g.node != nil && g.wrong == "" && !g.unsure }

// mistaken reports whether the claim's token should be its node's czxid, and is not.
func (g *granted) mistaken() bool {
	return g.node != nil && !g.own && g.token != 0 && g.token != g.node.czxid
}
