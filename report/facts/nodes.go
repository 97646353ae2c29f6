package facts

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/zkbench/zkbench/report/history"
)

// NodeTable has the ephemeral nodes of a trial by the servers' commits.
type NodeTable struct {
	newestDropped int64                   // czxid of the youngest removed node that was dropped; 0 for none
	Nodes         map[string]*Node        // by path: the existing one, or the last
	Sessions      map[int64]*sessionNodes // by owner
	Dirs          map[string]*dirNodes    // by parent
	// Persistent has the czxids of persistent nodes by path; nil if nothing is granted.
	Persistent map[string]int64
	last       int64 // zxid of the last commit
	end        *history.CommitsEnd

	header       history.Header
	modes        modes          // of a read-write lock's nodes
	removedLimit int            // of the removed nodes of a line that are kept
	operators    map[int64]bool // sessions that deleted nodes as an operator does

	passed map[string]bool // kinds of older sequential nodes that were taken for no claims on the same lock
	// Ambiguous means that the names of nodes, such as a client's own word and a number, do not show which ones are claims
	// on the same lock: one of a kind in passed was granted later.
	Ambiguous bool
}

// Node is an ephemeral node, which exists or existed.
type Node struct {
	Path           string
	pattern, kind  string // see pathPattern and NodeKind; empty until they are needed
	in             *dirNodes
	Session, Czxid int64
	SessionNodes   *sessionNodes // the nodes of its session
	RemovedZxid    int64         // zxid of its removal; 0 while it exists
	Removal        removal
	Before, after  *Node // at the same path, as far as they are kept
	// Queued is the czxid of its session's newest other node that existed when this one was created; 0 if there
	// was none. With it the client may have waited.
	Queued int64
	former *Node // read-write lock: its session's oldest node in line when this node was created
}

// mayReplace reports whether both the node and its session's former node exist: the node may still take over that place.
func (n *Node) mayReplace() bool {
	return n != nil && n.former != nil && n.former.RemovedZxid == 0 && n.RemovedZxid == 0
}

type removal byte

const (
	ByRequest  removal = iota // its own session deleted it
	ByAnother                 // another session did
	byOperator                // a fault did, as an operator
	ByClose                   // its session was closed on request
	ByExpiry                  // its session expired
)

// RemovedWithSession reports whether the node was removed with its session.
func (n *Node) RemovedWithSession() bool { return n.RemovedZxid != 0 && n.Removal >= ByClose }

// RemovedBefore reports whether a node was removed before the other was.
func (n *Node) RemovedBefore(other *Node) bool {
	return n.RemovedZxid != 0 && (other.RemovedZxid == 0 || other.RemovedZxid > n.RemovedZxid)
}

type sessionNodes struct {
	Existing []*Node
	Youngest *Node // the last created one, existing or not
}

type dirNodes struct {
	Standing     []*Node // by czxid; up to half of them may be removed
	removedCount int     // of those in Standing
	Removed      []*Node // recent ones, by zxid of the removal
}

// RemovedLimit is the number of removed nodes of a line that are kept for samples of clients that lag behind.
const RemovedLimit = 4096

// NewNodeTable returns an empty table, for the commits of one history.
func NewNodeTable(h *history.History) *NodeTable { return newNodeTable(h, modesOf(h), RemovedLimit) }

// Part returns an empty table for the commits of one path; nil for a nil table. The paths share RemovedLimit.
func (l *NodeTable) Part(part *history.History) *NodeTable {
	if l == nil {
		return nil
	}
	return newNodeTable(part, l.modes, max(RemovedLimit/l.header.Paths, 64))
}

func newNodeTable(h *history.History, modes modes, removedLimit int) *NodeTable {
	l := &NodeTable{header: h.Header, modes: modes, removedLimit: removedLimit, Nodes: map[string]*Node{}, Sessions: map[int64]*sessionNodes{}, Dirs: map[string]*dirNodes{}, operators: map[int64]bool{}, passed: map[string]bool{}}
	for _, f := range h.Faults {
		if f.Operator != 0 {
			l.operators[f.Operator] = true
		}
	}
	return l
}

// Record adds the next record.
func (l *NodeTable) Record(r history.Record) {
	switch c := r.(type) {
	case *history.CommitsEnd:
		l.end = c
	case *history.Commit:
		l.commit(c)
	}
}

func (l *NodeTable) commit(c *history.Commit) {
	l.last = c.Zxid
	switch {
	case c.Op == history.CommitCreate && c.Ephemeral:
		l.create(&Node{Path: c.Path, Session: c.Session, Czxid: c.Zxid, Before: l.Nodes[c.Path]})
	case c.Op == history.CommitCreate && l.Persistent != nil:
		l.Persistent[c.Path] = c.Zxid
	default:
		for _, p := range c.RemovedPaths() {
			l.remove(p, c)
		}
	}
}

func (l *NodeTable) create(n *Node) {
	n.in, n.SessionNodes = ValueAt(l.Dirs, path.Dir(n.Path)), ValueAt(l.Sessions, n.Session)
	if n.Before != nil {
		n.Before.after = n
	}
	if k := len(n.SessionNodes.Existing); k > 0 {
		n.Queued = n.SessionNodes.Existing[k-1].Czxid
	}
	if l.header.Recipe == RWLock {
		if i := slices.IndexFunc(n.SessionNodes.Existing, func(o *Node) bool { return l.contend(o, n) }); i >= 0 {
			n.former = n.SessionNodes.Existing[i]
		}
	}
	n.in.Standing = append(n.in.Standing, n)
	n.SessionNodes.Existing = append(n.SessionNodes.Existing, n)
	n.SessionNodes.Youngest = n
	l.Nodes[n.Path] = n
}

// ValueAt returns the value at a key, which it creates if it is missing.
func ValueAt[K comparable, V any](m map[K]*V, key K) *V {
	v := m[key]
	if v == nil {
		v = new(V)
		m[key] = v
	}
	return v
}

// OwnedBy returns the existing nodes of a session.
func (l *NodeTable) OwnedBy(session int64) []*Node {
	if o := l.Sessions[session]; o != nil {
		return o.Existing
	}
	return nil
}

func (l *NodeTable) remove(p string, c *history.Commit) {
	n := l.Nodes[p]
	if n == nil || n.RemovedZxid != 0 {
		return
	}
	n.RemovedZxid, n.Removal = c.Zxid, l.removedBy(n, c)
	n.SessionNodes.Existing = slices.DeleteFunc(n.SessionNodes.Existing, func(o *Node) bool { return o == n })
	d := n.in
	if d.removedCount++; 2*d.removedCount > len(d.Standing) {
		d.Standing = slices.DeleteFunc(d.Standing, func(o *Node) bool { return o.RemovedZxid != 0 })
		d.removedCount = 0
	}
	if d.Removed = append(d.Removed, n); len(d.Removed) == 2*l.removedLimit {
		for _, old := range d.Removed[:l.removedLimit] {
			l.drop(old)
		}
		d.Removed = append(d.Removed[:0], d.Removed[l.removedLimit:]...)
	}
}

func (l *NodeTable) removedBy(n *Node, c *history.Commit) removal {
	switch {
	case c.Op == history.CommitClose && c.Cxid == 0:
		return ByExpiry
	case c.Op == history.CommitClose:
		return ByClose
	case l.operators[c.Session]:
		return byOperator
	case c.Session != n.Session:
		return ByAnother
	}
	return ByRequest
}

func (l *NodeTable) drop(n *Node) {
	l.newestDropped = max(l.newestDropped, n.Czxid)
	if n.after != nil {
		n.after.Before = nil
	}
	if l.Nodes[n.Path] == n {
		delete(l.Nodes, n.Path)
	}
}

// Find returns the node at the path that was created by that transaction, or nil.
func (l *NodeTable) Find(p string, czxid int64) *Node {
	if n := l.at(p, czxid); n != nil && n.Czxid == czxid {
		return n
	}
	return nil
}

// at returns the last node that was created at the path up to that transaction.
func (l *NodeTable) at(p string, zxid int64) *Node {
	n := l.Nodes[p]
	for n != nil && n.Czxid > zxid {
		n = n.Before
	}
	return n
}

// newest returns the last node of the session that was created up to that transaction, a sequential one
// if possible, or the last created node if none exists. sure is false if the session has nodes of
// several kinds then, or two of one transaction: the claim may mean any of them.
func (l *NodeTable) newest(session, zxid int64) (n *Node, sure bool) {
	own := l.Sessions[session]
	if own == nil {
		return nil, true
	}
	sure = true
	for _, o := range own.Existing {
		if o.Czxid <= zxid && n != nil && (o.in != n.in || o.Sequential() != n.Sequential()) {
			return n, false
		}
		switch {
		case o.Czxid > zxid, n != nil && n.Sequential() && !o.Sequential():
		case n != nil && n.Czxid == o.Czxid && n.Sequential() == o.Sequential():
			sure = false // one transaction created both
		default:
			n, sure = o, true
		}
	}
	if n == nil {
		n = own.Youngest
	}
	return n, sure
}

// Sequential reports whether the node's name ends like a sequential node's: in ten characters
// of a number, which may be negative.
func (n *Node) Sequential() bool {
	if len(n.Path) < 10 || endsInRandom(n.Path) {
		return false
	}
	for i, c := range []byte(n.Path[len(n.Path)-10:]) {
		if (c < '0' || c > '9') && (i != 0 || c != '-') {
			return false
		}
	}
	return true
}

// randomPart matches the part of a path that distinguishes nodes of the same kind: numbers, and random
// IDs. Letters and digits as long as an ID (ULID, base62) count as one if randomLetters matches them.
var randomPart = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-zA-Z]{16,}|0x[0-9a-fA-F]+|[0-9a-fA-F]{8,}|[0-9]+`)

// randomLetters matches a part of most IDs, and of few words and names in camel case.
var randomLetters = regexp.MustCompile(`[0-9]|[A-Z][a-z][A-Z]|(?i:[bcdfghjklmnpqrstvwxz]{6})`)

// SameKind reports whether two nodes have the same kind, by their paths. Nodes of different kinds, such
// as a reader's and a writer's, do not contend.
func SameKind(a, b *Node) bool { return a.kindOnce() == b.kindOnce() }

// SameLine reports whether two nodes are in the same line: they have the same parent and the same kind.
func SameLine(a, b *Node) bool {
	return a.Path[:strings.LastIndexByte(a.Path, '/')] == b.Path[:strings.LastIndexByte(b.Path, '/')] && SameKind(a, b)
}

// kindOnce computes the pattern and the kind when they are first needed: most nodes never have another ahead of them.
func (n *Node) kindOnce() string {
	if n.kind == "" {
		n.pattern = pathPattern(n.Path)
		n.kind = kindOf(n.pattern)
	}
	return n.kind
}

// longestKind bounds the part of a path that pathPattern reads: a path may have a megabyte.
const longestKind = 4096

// NodeKind returns what the paths of nodes of a kind have in common: of sequential nodes, the parent and
// the last word of the name that is not random. A client's name or a short random ID may precede it.
func NodeKind(path string) string { return kindOf(pathPattern(path)) }

func kindOf(pattern string) string {
	dir, name := path.Split(pattern)
	name, sequential := strings.CutSuffix(name, "-#")
	if !sequential {
		return pattern
	}
	separates := func(r rune) bool { return r != '#' && !unicode.IsLetter(r) }
	for _, word := range slices.Backward(strings.FieldsFunc(name, separates)) {
		if i := strings.IndexByte(word, '#'); i < 0 || i > 0 && i == len(word)-1 { // otherwise a letter follows a digit
			return dir + word + "-#"
		}
	}
	return dir + "-#"
}

// pathPattern returns a path without its numbers and random IDs.
func pathPattern(path string) string {
	if len(path) > longestKind {
		path = path[:longestKind/2] + path[len(path)-longestKind/2:]
	}
	if !endsInRandom(path) {
		path = sequenceEnd.ReplaceAllString(path, "-#")
	}
	return randomPart.ReplaceAllStringFunc(path, func(part string) string {
		if len(part) >= 16 && !randomLetters.MatchString(part) {
			return part
		}
		return "#"
	})
}

// endsInRandom reports whether the path ends in a UUID or another random hexadecimal word, whose last characters may
// all be digits. A counter after a word of six or fourteen characters begins with 0, as almost all counters do.
func endsInRandom(path string) bool {
	n := len(path)
	if n >= 36 && path[n-13] == '-' && path[n-18] == '-' && path[n-23] == '-' && path[n-28] == '-' {
		return true
	}
	switch n - len(strings.TrimRight(path, "0123456789abcdef")) {
	case 32, 40:
		return true
	case 16, 24:
		return path[n-10] != '0'
	}
	return false
}

// sequenceEnd matches the end of a sequential node's path: ten characters, of which the first may be a minus sign.
var sequenceEnd = regexp.MustCompile(`-?[-0-9][0-9]{9}$`)

// aheadOf returns older nodes of the same line that existed as long as n did, up to that transaction,
// if they and n together would take too many permits; nil if n could be granted at some time.
func (l *NodeTable) aheadOf(n *Node, zxid int64) (ahead []*Node) {
	if n.RemovedZxid != 0 {
		zxid = min(zxid, n.RemovedZxid-1)
	}
	total, place := l.permitsOf(n), n.Czxid
	if s := n.former; s != nil && !n.RemovedBefore(s) { // n took over its place in line
		place = s.Czxid
	}
	var others []*Node
	add := func(o *Node) {
		switch {
		case o.Czxid >= place || o.RemovedZxid != 0 && o.RemovedZxid <= zxid:
		case l.contend(o, n):
			ahead, total = append(ahead, o), total+l.permitsOf(o)
		case l.header.Recipe != RWLock && o.Sequential() && o.Session != n.Session && !slices.Contains(others, o):
			others = append(others, o)
		}
	}
	lines := []*dirNodes{n.in}
	if l.header.Recipe == RWLock { // readers and writers may have folders of their own
		lines = slices.Collect(maps.Values(l.Dirs))
	}
	for _, in := range lines {
		for _, o := range in.Standing {
			if o.Czxid >= place {
				break
			}
			add(o)
		}
		for _, o := range slices.Backward(in.Removed) {
			if o.RemovedZxid <= zxid {
				break
			}
			if o.Czxid < place && !slices.Contains(ahead, o) { // a line has up to half of its removed nodes
				add(o)
			}
		}
	}
	if total <= Permits(l.header) {
		for _, o := range others {
			l.passed[o.kindOnce()] = l.passed[o.kindOnce()] || total+len(others) > Permits(l.header)
		}
		return nil
	}
	slices.SortFunc(ahead, func(a, b *Node) int { return cmp.Compare(a.Czxid, b.Czxid) })
	return ahead
}

// contend reports whether two nodes are claims on the same lock.
func (l *NodeTable) contend(a, b *Node) bool {
	if l.header.Recipe == RWLock {
		return l.modes.of(a) != "" && l.modes.of(b) != ""
	}
	return SameKind(a, b)
}

func (l *NodeTable) permitsOf(n *Node) int { return permitsForMode(l.header, l.modes.of(n)) }

// modes are the modes in which a read-write lock was acquired with its nodes: by the pattern of their paths, or, if
// nodes of both modes have the same pattern, by node.
type modes struct {
	byPattern map[string]string
	byNode    map[nodeID]string // "" if the mode is ambiguous
}

// nodeID identifies a node at a path by its czxid, or, if a claim has no token of the servers, by its session.
type nodeID struct {
	path string
	id   int64
}

const bothModes = "both"

var otherMode = map[string]string{Reading: "write", "write": Reading}

// wait is an acquire of a client that ended without a grant, or was in progress at the end of its phase.
type wait struct {
	client int
	mode   string
}

// modesOf reads the modes of the granted nodes from a history of a read-write lock.
func modesOf(h *history.History) modes {
	m, alike := modes{map[string]string{}, map[nodeID]string{}}, false
	clients, ungranted := map[string]int{}, map[wait]bool{} // the only client of a pattern, or -1; acquires without a grant
	if h.Header.Recipe != RWLock {
		return m
	}
	for n := range h.Records {
		if w, waits := n.Record.(*history.Waiting); waits {
			ungranted[wait{w.Client, w.Mode}] = true
		}
		s, ok := n.Record.(*history.Sample)
		if !ok || s.Op != history.Acquire {
			continue
		}
		if s.Outcome != history.OK || s.Path == "" {
			ungranted[wait{s.Client, s.Mode}] = true
			continue
		}
		id := nodeID{s.Path, s.Token}
		if s.Own || s.Token == 0 {
			id.id = s.Session
		}
		mode, known := m.byNode[id]
		if m.byNode[id] = s.Mode; known && mode != s.Mode {
			m.byNode[id] = ""
		}
		k := pathPattern(s.Path)
		if client, known := clients[k]; known && client != s.Client {
			clients[k] = -1
		} else {
			clients[k] = s.Client
		}
		if m.byPattern[k] == "" {
			m.byPattern[k] = s.Mode
		} else if m.byPattern[k] != s.Mode {
			m.byPattern[k], alike = bothModes, true
		}
	}
	for k, client := range clients { // the names may be those of clients
		if ungranted[wait{client, otherMode[m.byPattern[k]]}] {
			m.byPattern[k], alike = bothModes, true
		}
	}
	if !alike {
		m.byNode = nil
	}
	return m
}

// of returns the mode of a node, "" if it is unknown.
func (m modes) of(n *Node) string {
	n.kindOnce()
	if mode := m.byPattern[n.pattern]; mode != bothModes {
		return mode
	}
	if mode, known := m.byNode[nodeID{n.Path, n.Czxid}]; known {
		return mode
	}
	return m.byNode[nodeID{n.Path, n.Session}]
}

// IncompleteReason returns why the commits are incomplete, or "", also for a nil table, without commits. It is
// valid after the last commit.
func (l *NodeTable) IncompleteReason() string {
	switch {
	case l == nil:
		return ""
	case l.end == nil:
		return "the end of the commits is missing"
	case l.end.Err != "":
		return "the commits could not be read: " + l.end.Err
	case len(l.end.Gaps) > 0:
		return "there are gaps in the commits"
	case l.end.Unknown > 0:
		return "some commits have an unknown transaction type"
	}
	return ""
}
