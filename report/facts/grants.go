package facts

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/zkbench/zkbench/report/history"
)

// Grants looks every grant up in the servers' commits.
type Grants struct {
	commits *NodeTable
	inOrder bool // the subject promises order and exclusion: only the first in line is granted
	shared  bool // several grants may be held at the same time: then an overtaking does not make a claim invalid
	// OnPassed receives a grant during which older nodes existed all the time, if shared; nil ignores it.
	OnPassed     func(g *Grant, ahead []*Node)
	Current      map[int]int64 // by client: its current session
	open         []*Grant      // grants whose commits have not all come
	newest       *Grant        // recorded last, in newestRecord
	newestRecord int
	silent       map[int64]*Grant // by session: its grants before any reply had reached its client, all as one Grant
	OnJudged     func(*Grant)     // receives each once its commits have come
}

// Grant is a grant as a client reported it, with its node according to the commits.
type Grant struct {
	Client               int
	path, removed        string // removed: as Sample.Removed
	Session, token, Zxid int64
	own                  bool // the token is the subject's own number
	Notified             bool // as Sample.Notified
	Record               int

	Node          *Node  // of the claim; nil if no transaction created it
	InvalidReason string // why the grant is invalid; empty if it is valid
	Missing       bool   // an unread transaction might make it valid
	Unsure        bool   // the client's knowledge or its node is ambiguous
}

// NewGrants returns an empty Grants, for the records of one history.
func NewGrants(l *NodeTable, p history.Promises) *Grants {
	return &Grants{commits: l, inOrder: p.FIFO && p.Exclusive, shared: Permits(l.header) > 1, Current: map[int]int64{}, silent: map[int64]*Grant{}, OnJudged: func(*Grant) {}}
}

// Record adds the next record.
func (a *Grants) Record(n history.Numbered) {
	if len(a.open) > 0 {
		a.Judge(false)
	}
	switch r := n.Record.(type) {
	case *history.Session:
		if r.Event == history.Opened {
			a.Current[r.Client] = r.Session
		}
	case *history.Sample:
		if r.Zxid > 0 {
			maps.DeleteFunc(a.silent, func(_ int64, g *Grant) bool { return g.Client == r.Client })
		}
		if r.Op != history.Acquire || r.Outcome != history.OK {
			return
		}
		g := &Grant{Client: r.Client, path: r.Path, removed: r.Removed, Session: r.Session, token: r.Token, own: r.Own, Notified: r.Notified, Zxid: r.Zxid, Record: n.N}
		if g.Session == 0 {
			g.Session = a.Current[r.Client]
		}
		g.Node, g.Unsure = a.commits.claimed(g)
		if r.Zxid == 0 && a.Current[r.Client] != 0 {
			if a.newest, a.newestRecord = a.silent[g.Session], n.N; a.newest != nil {
				return
			}
			a.silent[g.Session] = g
		}
		a.newest, a.newestRecord = g, n.N
		if len(a.commits.passed) > 0 && g.Node != nil && g.path != "" {
			a.commits.Ambiguous = a.commits.Ambiguous || a.commits.passed[g.Node.kindOnce()]
		}
		a.open = append(a.open, g)
		a.Judge(false)
	}
}

// Last returns the grant of that record, if it is the last one; otherwise nil.
func (a *Grants) Last(record int) *Grant {
	if a.newestRecord == record {
		return a.newest
	}
	return nil
}

// Judge looks up the grants whose commits have come, or all pending grants if all is set.
func (a *Grants) Judge(all bool) {
	later := a.open[:0]
	for _, g := range a.open {
		zxid, ok := a.commits.grantZxid(g)
		switch {
		case ok && !g.Node.mayReplace() && a.silent[g.Session] != g || all:
			a.checkCommits(g, zxid)
			a.OnJudged(g)
		default:
			later = append(later, g)
		}
	}
	clear(a.open[len(later):])
	a.open = later
}

// claimed returns the node of a claim; if the claim names none, the newest node of its session. unsure
// means that the node is ambiguous.
func (l *NodeTable) claimed(g *Grant) (n *Node, unsure bool) {
	if g.Zxid == 0 {
		return nil, true
	}
	if g.path == "" {
		n, sure := l.newest(g.Session, g.Zxid)
		return n, !sure
	}
	if n = l.Find(g.path, g.token); n == nil { // another token, or none, does not mean another node
		if n = l.at(g.path, g.Zxid); n != nil && n.Session != g.Session && g.token != 0 {
			n = nil
		}
	}
	return n, false
}

// grantZxid returns the last transaction that the client certainly knew when it was granted. ok is false
// while the removal of which it was notified, or a transaction that it may have known, is not yet read.
func (l *NodeTable) grantZxid(g *Grant) (zxid int64, ok bool) {
	if g.Notified && l.last <= g.Zxid {
		return g.Zxid, false
	}
	if g.removed == "" || g.Node == nil {
		return g.Zxid, true
	}
	n := l.at(g.removed, g.Node.Czxid-1)
	switch {
	case n == nil:
		return g.Zxid, true
	case n.RemovedZxid == 0:
		return g.Zxid, false
	}
	return max(g.Zxid, n.RemovedZxid), true
}

// checkCommits checks a grant by the commits up to its client's knowledge.
func (a *Grants) checkCommits(g *Grant, zxid int64) {
	n := g.Node
	switch {
	case g.Zxid == 0 && a.Current[g.Client] != 0 && a.unfounded(g):
		g.Unsure, g.Missing = false, true
		g.InvalidReason = "its client had not received any reply, and its session had not created the node"
	case g.Unsure:
	case n == nil && a.commits.newestDropped > 0 && g.path != "" && (g.own || g.token <= a.commits.newestDropped):
		g.Unsure = true // its client came back late: its node may have been dropped from memory
	case n == nil && g.path == "":
		g.InvalidReason, g.Missing = "the session of the grant had no node", true
	case n == nil && a.commits.Persistent[g.path] != 0:
		g.InvalidReason = fmt.Sprintf("the granted node is persistent (created in transaction %#x): it belongs to no session, and is not removed when one ends", uint64(a.commits.Persistent[g.path]))
	case n == nil:
		g.InvalidReason, g.Missing = "no transaction created the granted node for its session", true
	case n.Session != g.Session:
		g.InvalidReason = fmt.Sprintf("session %#x created the granted node", uint64(n.Session))
	case a.inOrder && (a.shared || n.Sequential()):
		ahead := a.commits.aheadOf(n, zxid)
		switch {
		case ahead == nil:
		case g.Notified && a.commits.aheadOf(n, zxid+1) == nil:
			g.Unsure = true
		case a.shared:
			if a.OnPassed != nil {
				a.OnPassed(g, ahead)
			}
		default:
			g.Missing = true
			g.InvalidReason = fmt.Sprintf("the older node %s (czxid %#x) existed all the time", ahead[0].Path, uint64(ahead[0].Czxid))
		}
	}
	g.Zxid = zxid
}

// unfounded reports whether a client that had received no reply cannot have had the node that it claims: its session
// never created one, or, if the tap has seen replies to the client since, not the one that the claim names.
func (a *Grants) unfounded(g *Grant) bool {
	n, replied := a.commits.Nodes[g.path], a.silent[g.Session] != g
	return a.commits.Sessions[g.Session] == nil || replied && (n == nil || n.Session != g.Session)
}

// Valid reports whether the claim is valid; false if that is unknown.
func (g *Grant) Valid() bool { return g.Node != nil && g.InvalidReason == "" && !g.Unsure }

// HasWrongToken reports whether the claim's token should be its node's czxid, and is not.
func (g *Grant) HasWrongToken() bool {
	return g.Node != nil && !g.own && g.token != 0 && g.token != g.Node.Czxid
}

// Claims describes the client's claim, or the tap's view if a driver names none.
func (g *Grant) Claims() string {
	switch {
	case g.token != 0:
		return fmt.Sprintf("token %#x with node %s", uint64(g.token), cmp.Or(g.path, "(unnamed)"))
	case g.path != "":
		return "no token with node " + g.path
	}
	return "no token and no node (the client reported neither, and its traffic does not identify a node)"
}
