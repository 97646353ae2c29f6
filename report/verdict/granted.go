package verdict

import (
	"fmt"

	"github.com/zkbench/zkbench/report/history"
)

// grants looks every grant up in the servers' commits (rule 1).
type grants struct {
	line    *nodeTable
	inOrder bool           // the subject promises order and exclusion: only the first of a line is granted
	current map[int]int64  // by client: its current session
	open    []*granted     // whose commits have not all come
	newest  *granted       // recorded last
	judged  func(*granted) // receives each once its commits have come
}

// granted is a grant, as its client claims it and in the commits.
type granted struct {
	client               int
	path, removed        string // removed: as Sample.Removed
	session, token, zxid int64
	own                  bool // the token is the subject's own number
	record               int

	node    *node  // of the claim; nil if no transaction created it
	wrong   string // why the grant is invalid; empty if it is valid
	missing bool   // an unread transaction might make it valid
	unsure  bool   // the client's knowledge or its node is ambiguous
}

func newGrants(l *nodeTable, p history.Promises) *grants {
	return &grants{line: l, inOrder: p.FIFO && p.Exclusive, current: map[int]int64{}, judged: func(*granted) {}}
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
		g := &granted{client: r.Client, path: r.Path, removed: r.Removed, session: r.Session, token: r.Token, own: r.Own, zxid: r.Zxid, record: n.N}
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

// close looks up the remaining grants. All commits have come.
func (a *grants) close() { a.judge(true) }

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

// known returns the last transaction of which the client can have known when it was granted. ok is
// false while the removal of which it was notified is not yet read.
func (l *nodeTable) known(g *granted) (zxid int64, ok bool) {
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
		if ahead := a.line.aheadOf(n, zxid); ahead != nil {
			g.missing = true
			g.wrong = fmt.Sprintf("the older node %s (czxid %#x) existed all the time", ahead.path, uint64(ahead.czxid))
		}
	}
	g.zxid = zxid
}

// forgotten reports whether the node of a claim may have been dropped from memory: its client came
// back late.
func (l *nodeTable) forgotten(g *granted) bool {
	return l.forgot > 0 && g.path != "" && (g.own || g.token <= l.forgot)
}

// valid reports whether the grant has a valid node.
func (g *granted) valid() bool { return g.node != nil && g.wrong == "" && !g.unsure }

// mistaken reports whether the claim's token should be its node's czxid, and is not.
func (g *granted) mistaken() bool {
	return g.node != nil && !g.own && g.token != 0 && g.token != g.node.czxid
}
