package verdict

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/zkbench/zkbench/report/history"
)

type nodeTable struct {
	forgot   int64              // czxid of the youngest removed node that was dropped; 0 for none
	nodes    map[string]*node   // by path: the existing one, or the last
	sessions map[int64]*owned   // by owner
	dirs     map[string]*lineIn // by parent
	// persistent has the czxids of persistent nodes by path; nil if nothing is granted.
	persistent map[string]int64
	last       int64 // zxid of the last commit
	end        *history.CommitsEnd

	header    history.Header
	modes     modes          // of a read-write lock's nodes
	operators map[int64]bool // sessions that deleted nodes as an operator does
}

type node struct {
	path           string
	kind           string // see kind
	in             *lineIn
	session, czxid int64
	owned          *owned // the nodes of its session
	gone           int64  // zxid of its removal; 0 while it exists
	removal        removal
	before, after  *node // at the same path, as far as they are kept
}

type removal byte

const (
	byRequest  removal = iota // its own session deleted it
	byAnother                 // another session did
	byOperator                // a fault did, as an operator
	byClose                   // its session was closed on request
	byExpiry                  // its session expired
)

func (n *node) withSession() bool { return n.gone != 0 && n.removal >= byClose }

// wentBefore reports whether a node was removed while the other existed.
func (n *node) wentBefore(other *node) bool {
	return n.gone != 0 && (other.gone == 0 || other.gone > n.gone)
}

type owned struct {
	standing []*node
	youngest *node // the last created one, existing or not
}

type lineIn struct {
	standing []*node // by czxid; up to half of them may be removed
	gone     int
	removed  []*node // recent ones, by zxid of the removal
}

// remember is the number of removed nodes of a line that are kept for samples of clients that lag behind.
const remember = 4096

func newLine(h *history.History) *nodeTable {
	l := &nodeTable{header: h.Header, modes: modesOf(h), nodes: map[string]*node{}, sessions: map[int64]*owned{}, dirs: map[string]*lineIn{}, operators: map[int64]bool{}}
	for _, f := range h.Faults {
		if f.Operator != 0 {
			l.operators[f.Operator] = true
		}
	}
	return l
}

func (l *nodeTable) record(r history.Record) {
	switch c := r.(type) {
	case *history.CommitsEnd:
		l.end = c
	case *history.Commit:
		l.commit(c)
	}
}

func (l *nodeTable) commit(c *history.Commit) {
	l.last = c.Zxid
	switch c.Op {
	case history.CommitCreate:
		if !c.Ephemeral && l.persistent != nil {
			l.persistent[c.Path] = c.Zxid
		}
		if c.Ephemeral {
			l.create(&node{path: c.Path, session: c.Session, czxid: c.Zxid, before: l.nodes[c.Path]})
		}
	case history.CommitDelete:
		l.remove(c.Path, c)
	case history.CommitClose:
		for _, p := range c.Removed {
			l.remove(p, c)
		}
	}
}

func (l *nodeTable) create(n *node) {
	n.kind = kind(n.path)
	n.in, n.owned = valueAt(l.dirs, path.Dir(n.path)), valueAt(l.sessions, n.session)
	if n.before != nil {
		n.before.after = n
	}
	n.in.standing = append(n.in.standing, n)
	n.owned.standing = append(n.owned.standing, n)
	n.owned.youngest = n
	l.nodes[n.path] = n
}

func valueAt[K comparable, V any](m map[K]*V, key K) *V {
	v := m[key]
	if v == nil {
		v = new(V)
		m[key] = v
	}
	return v
}

func (l *nodeTable) of(session int64) []*node {
	if o := l.sessions[session]; o != nil {
		return o.standing
	}
	return nil
}

func (l *nodeTable) remove(p string, c *history.Commit) {
	n := l.nodes[p]
	if n == nil || n.gone != 0 {
		return
	}
	n.gone, n.removal = c.Zxid, l.removedBy(n, c)
	n.owned.standing = slices.DeleteFunc(n.owned.standing, func(o *node) bool { return o == n })
	d := n.in
	if d.gone++; 2*d.gone > len(d.standing) {
		d.standing = slices.DeleteFunc(d.standing, func(o *node) bool { return o.gone != 0 })
		d.gone = 0
	}
	if d.removed = append(d.removed, n); len(d.removed) == 2*remember {
		for _, old := range d.removed[:remember] {
			l.forget(old)
		}
		d.removed = append(d.removed[:0], d.removed[remember:]...)
	}
}

func (l *nodeTable) removedBy(n *node, c *history.Commit) removal {
	switch {
	case c.Op == history.CommitClose && c.Cxid == 0:
		return byExpiry
	case c.Op == history.CommitClose:
		return byClose
	case l.operators[c.Session]:
		return byOperator
	case c.Session != n.session:
		return byAnother
	}
	return byRequest
}

func (l *nodeTable) forget(n *node) {
	l.forgot = max(l.forgot, n.czxid)
	if n.after != nil {
		n.after.before = nil
	}
	if l.nodes[n.path] == n {
		delete(l.nodes, n.path)
	}
}

// find returns the node at the path that was created by that transaction, or nil.
func (l *nodeTable) find(p string, czxid int64) *node {
	if n := l.at(p, czxid); n != nil && n.czxid == czxid {
		return n
	}
	return nil
}

// at returns the last node that was created at the path up to that transaction.
func (l *nodeTable) at(p string, zxid int64) *node {
	n := l.nodes[p]
	for n != nil && n.czxid > zxid {
		n = n.before
	}
	return n
}

// newest returns the last node of the session that was created up to that transaction, sequential
// ones before others, and the last removed one if none exists. sure is false if the session has
// nodes of several kinds then, or two of one transaction: any may be the claim's.
func (l *nodeTable) newest(session, zxid int64) (n *node, sure bool) {
	own := l.sessions[session]
	if own == nil {
		return nil, true
	}
	sure = true
	for _, o := range own.standing {
		if o.czxid <= zxid && n != nil && (o.in != n.in || o.sequential() != n.sequential()) {
			return n, false
		}
		switch {
		case o.czxid > zxid, n != nil && n.sequential() && !o.sequential():
		case n != nil && n.czxid == o.czxid && n.sequential() == o.sequential():
			sure = false // one transaction created both
		default:
			n, sure = o, true
		}
	}
	if n == nil {
		n = own.youngest
	}
	return n, sure
}

// sequential reports whether the node's name ends like a sequential node's: in ten characters
// of a number, which may be negative.
func (n *node) sequential() bool {
	if len(n.path) < 10 {
		return false
	}
	for i, c := range []byte(n.path[len(n.path)-10:]) {
		if (c < '0' || c > '9') && (i != 0 || c != '-') {
			return false
		}
	}
	return true
}

// randomPart matches the part of a path that distinguishes nodes of the same kind: numbers, and random
// IDs. Letters as long as an ID (ULID, base62) are one.
var randomPart = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-zA-Z]{16,}|0x[0-9a-fA-F]+|[0-9a-fA-F]{8,}|-?[0-9]+`)

// sameKind reports whether two nodes have the same kind, by their paths. Nodes of different kinds, such
// as a reader's and a writer's, do not contend.
func sameKind(a, b *node) bool { return a.kind == b.kind }

// longestKind bounds the part of a path that kind reads: a path may have a megabyte.
const longestKind = 4096

// kind returns a path without the parts that distinguish nodes of a kind.
func kind(path string) string {
	if len(path) > longestKind {
		path = path[:longestKind/2] + path[len(path)-longestKind/2:]
	}
	return randomPart.ReplaceAllString(sequenceEnd.ReplaceAllString(path, "-#"), "#")
}

// sequenceEnd matches the end of a sequential node's path.
var sequenceEnd = regexp.MustCompile(`-{0,2}[0-9]{9,10}$`)

// aheadOf returns older nodes of the same line that existed as long as n did, up to that transaction,
// if they and n together would take too many permits; nil if n could be granted at some time.
func (l *nodeTable) aheadOf(n *node, zxid int64) (ahead []*node) {
	if n.gone != 0 {
		zxid = min(zxid, n.gone-1)
	}
	total := l.taken(n)
	add := func(o *node) {
		if o.czxid < n.czxid && (o.gone == 0 || o.gone > zxid) && l.contend(o, n) {
			ahead, total = append(ahead, o), total+l.taken(o)
		}
	}
	for _, in := range l.linesOf(n) {
		for _, o := range in.standing {
			if o.czxid >= n.czxid {
				break
			}
			add(o)
		}
		for _, o := range slices.Backward(in.removed) {
			if o.gone <= zxid {
				break
			}
			if o.czxid < n.czxid && !slices.Contains(ahead, o) { // a line has up to half of its removed nodes
				add(o)
			}
		}
	}
	if total <= Permits(l.header) {
		return nil
	}
	slices.SortFunc(ahead, func(a, b *node) int { return cmp.Compare(a.czxid, b.czxid) })
	return ahead
}

// linesOf returns the lines in which a node's contenders may stand: of a read-write lock all, since
// readers and writers may have folders of their own.
func (l *nodeTable) linesOf(n *node) []*lineIn {
	if l.header.Recipe == RWLock {
		return slices.Collect(maps.Values(l.dirs))
	}
	return []*lineIn{n.in}
}

// contend reports whether two nodes are claims on the same lock.
func (l *nodeTable) contend(a, b *node) bool {
	if l.header.Recipe == RWLock {
		return l.modes.of(a) != "" && l.modes.of(b) != ""
	}
	return sameKind(a, b)
}

func (l *nodeTable) taken(n *node) int { return taken(l.header, l.modes.of(n)) }

// modes are the modes in which a read-write lock was acquired by its nodes: of all nodes of a kind,
// or, where nodes of both modes cannot be distinguished, of single nodes.
type modes struct {
	byKind, byPath map[string]string
}

const bothModes = "both"

// modesOf reads the modes of the granted nodes from a history of a read-write lock.
func modesOf(h *history.History) modes {
	m, alike := modes{map[string]string{}, map[string]string{}}, false
	if h.Header.Recipe != RWLock {
		return m
	}
	for n := range h.Records {
		s, ok := n.Record.(*history.Sample)
		if !ok || s.Op != history.Acquire || s.Outcome != history.OK || s.Path == "" {
			continue
		}
		m.byPath[s.Path] = s.Mode
		if k := kind(s.Path); m.byKind[k] == "" {
			m.byKind[k] = s.Mode
		} else if m.byKind[k] != s.Mode {
			m.byKind[k], alike = bothModes, true
		}
	}
	if !alike {
		m.byPath = nil
	}
	return m
}

// of returns the mode of a node, "" if it is unknown.
func (m modes) of(n *node) string {
	if mode := m.byKind[n.kind]; mode != bothModes {
		return mode
	}
	return m.byPath[n.path]
}

// incomplete returns why the commits are incomplete, or "". All must have come.
func (l *nodeTable) incomplete() string {
	switch {
	case l.end == nil:
		return "the commits have no end"
	case l.end.Err != "":
		return "the commits could not be read: " + l.end.Err
	case len(l.end.Gaps) > 0:
		return "there are gaps in the commits"
	case l.end.Unknown > 0:
		return "some of the commits were not understood"
	}
	return ""
}
