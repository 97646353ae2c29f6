package queue

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/finding"
)

// itemOrder checks the order in which items leave a queue by the commits, which are totally ordered:
// when an item's node is removed, no older item may exist. An older item may be overtaken if another
// consumer has claimed it by a node named after the item's.
//
// Only an item's first node has a position, among its siblings, and only its removal by the client
// that took the item counts: a put that is withdrawn does not overtake any item. If an item is
// handed over first and removed when the work is done, the removals do not show the order of the
// hand-overs. A node whose put has not been recorded yet may not belong to an item: items that
// overtook it are kept until that is known.
type itemOrder struct {
	lines  map[string]*itemLine // by parent
	judged int                  // items that have left
	handed int                  // handed over before they left
	count  int                  // overtakings
	found  []overtaking         // the first overtakings
	passed []*Item              // overtaken nodes that may not be items
}

type itemLine struct {
	line     []*Item // in the order of their transactions, including items that have left
	standing int
}

type overtaking struct {
	young, old *Item
	record     int // of the take
}

func (o *itemOrder) joined(i *Item) {
	l := o.lines[path.Dir(i.path)]
	if l == nil {
		l = &itemLine{}
		o.lines[path.Dir(i.path)] = l
	}
	if len(l.line) > 2*l.standing+64 {
		l.line = slices.DeleteFunc(l.line, func(k *Item) bool { return k.left })
	}
	l.line = append(l.line, i)
	l.standing++
	i.in = l
}

// remove records the removal of an item's first node. claimed reports whether an item is claimed by
// another client.
func (o *itemOrder) remove(i *Item, claimed func(old *Item, session int64) bool) {
	l := i.in
	i.left = true
	l.standing--
	for len(l.line) > 0 && l.line[0].left {
		l.line = l.line[1:]
	}
	if i.taken > 0 {
		o.handed++
		return
	}
	o.judged++
	for _, old := range l.line {
		if old.created >= i.created || i.passed != nil && i.passed.Put > 0 {
			return
		}
		if !old.left && !claimed(old, i.removedBy.session) {
			i.passed = old
		}
	}
}

// overtook records that an item which has overtaken an older one was taken. remover is the client
// that removed its node.
func (o *itemOrder) overtook(i *Item, s *history.Sample, record, remover int) {
	old := i.passed
	i.passed = nil
	if remover >= 0 && remover != s.Client {
		return
	}
	if old.Put > 0 {
		o.add(1, overtaking{i, old, record})
		return
	}
	if old.passers++; old.passers == 1 {
		old.firstOvertaking = &overtaking{i, old, record}
		o.passed = append(o.passed, old)
	}
}

func (o *itemOrder) add(n int, first overtaking) {
	if o.count += n; len(o.found) < finding.Limit {
		o.found = append(o.found, first)
	}
}

// removed reports whether an item's node was removed. Some queues keep the nodes, and store how far they
// have come.
func (o *itemOrder) removed() bool { return o.judged+o.handed > 0 }

func (o *itemOrder) unordered() string {
	return fmt.Sprintf("%d items were delivered before their nodes were removed: the commits do not show the order of the deliveries", o.handed)
}

func (o *itemOrder) verdict(incomplete string) Verdict {
	for _, old := range o.passed {
		if old.Put > 0 {
			o.add(old.passers, *old.firstOvertaking)
		}
	}
	switch {
	case incomplete != "": // after an unread removal an item seems to exist
		return unknown(incomplete)
	case o.judged < 2 && o.count == 0 && o.handed > 0:
		return notJudged(o.unordered())
	case o.judged < 2 && o.count == 0:
		return unknown(fmt.Sprintf("%d items were certainly put and taken, but a comparison needs two", o.judged))
	case o.count == 0:
		notes := []string{fmt.Sprintf("%d items left the queue in the order in which they were put, by the servers' commits", o.judged)}
		if o.handed > 0 {
			notes = append(notes, o.unordered())
		}
		return pass(notes...)
	}
	var broken evidence
	for _, f := range o.found {
		young, old := f.young, f.old
		broken.Add([]int{f.record, old.Put},
			"item %q (node %s, created by zxid %#x) was removed at zxid %#x, and taken (record %d), although the older item %q (node %s, created by zxid %#x) was available and unclaimed",
			young.ID, young.path, uint64(young.created), uint64(young.gone), f.record, old.ID, old.path, uint64(old.created))
	}
	broken.Count = o.count
	return broken.Fail("overtakings")
}

// itemCommits tracks the nodes of a queue's items in the servers' commits. Commits of other nodes
// have no item ID.
type itemCommits struct {
	items    *Items
	line     *facts.NodeTable // the consumers' nodes
	paths    map[string]*Item // by the path of an existing node
	sessions map[int64]*consumer
	current  map[int]int64 // session, by client
	lost     map[request]bool
	order    itemOrder
	linked   bool               // an item that was put was found in a node: items are recognizable by their nodes' data
	homes    map[*itemLine]bool // the lines in which such items were first
}

type request struct {
	session int64
	cxid    int32
}

type consumer struct {
	client   int
	seenZxid int64 // highest zxid that the client had seen by its last operation
	killed   bool  // the harness killed the client
	ended    bool  // it was notified of the session's end
}

func newItemCommits(q *Items, l *facts.NodeTable) *itemCommits {
	return &itemCommits{items: q, line: l, paths: map[string]*Item{}, sessions: map[int64]*consumer{}, current: map[int]int64{},
		order: itemOrder{lines: map[string]*itemLine{}}, lost: map[request]bool{}, homes: map[*itemLine]bool{}}
}

func (c *itemCommits) event(e *history.Session) {
	session := e.Session
	if e.Event == history.Opened {
		c.sessions[session] = &consumer{client: e.Client}
		c.current[e.Client] = session
		return
	}
	if session == 0 {
		session = c.current[e.Client]
	}
	s := c.sessions[session]
	switch {
	case s == nil:
	case e.Event == history.Killed:
		s.killed = true
	case e.Event == history.Lost || e.Event == history.Expired:
		s.ended = true
	}
}

func (c *itemCommits) noteZxid(s *history.Sample) {
	if w := c.sessions[c.current[s.Client]]; w != nil && !w.ended && !w.killed {
		w.seenZxid = max(w.seenZxid, s.Zxid)
	}
}

func (c *itemCommits) commit(k *history.Commit) {
	if k.Op == history.CommitCreate && k.Item != "" {
		c.create(k)
	}
	for _, p := range k.RemovedPaths() {
		c.remove(k, p)
	}
}

func (c *itemCommits) create(k *history.Commit) {
	i := c.items.of(k.Item)
	i.nodeCount++
	i.standing++
	c.paths[k.Path] = i
	switch {
	case i.nodeCount > 1 && path.Dir(k.Path) != path.Dir(i.path):
		i.moved = true
	case i.nodeCount == 1:
		i.path, i.created, i.maker = k.Path, k.Zxid, k.Session
		c.order.joined(i)
	case i.gone != k.Zxid:
		c.remade(i, k)
	}
	if i.Put > 0 {
		c.link(i)
	}
}

// remade records another node of an item, in the line of the first. A client that has removed it
// may put it back.
func (c *itemCommits) remade(i *Item, k *history.Commit) {
	i.remade = k.Zxid
	i.markRecreated()
	maker := c.clientOf(k.Session)
	putBack := i.standing == 1 && maker == c.clientOf(i.removedBy.session)
	if maker == c.clientOf(i.maker) && !putBack {
		i.again = k.Zxid
	}
}

// markRecreated records that another node of an item was created after a take had handed it over.
func (i *Item) markRecreated() { i.recreated = i.recreated || i.handed > 0 && i.handed < i.remade }

func (c *itemCommits) link(i *Item) {
	c.linked, c.homes[i.in] = true, true
}

// couldNotDeliver reports whether the client that removed an item's last node could not hand it over: it
// was killed, or its session ended, before it had any later reply.
func (c *itemCommits) couldNotDeliver(i *Item) bool {
	by := c.sessions[i.removedBy.session]
	return by != nil && (by.killed || by.ended) && by.seenZxid < i.gone
}

// movedUndelivered reports whether a consumer has moved an item to another folder, where it still exists,
// and has not handed it over although it could have.
func (q *Items) movedUndelivered(i *Item) bool {
	if i.standing == 0 || !i.left || !i.moved || i.taken > 0 || i.maybeTaken || q.delivery == AtMostOnce {
		return false
	}
	c := q.commits
	by := c.clientOf(i.removedBy.session)
	return by != c.clientOf(i.maker) && !c.couldNotDeliver(i) && q.unnamed[by] == 0
}

// clientOf returns the client of a session; -1 if unknown.
func (c *itemCommits) clientOf(session int64) int {
	if s := c.sessions[session]; s != nil {
		return s.client
	}
	return -1
}

func (c *itemCommits) remove(k *history.Commit, p string) {
	i := c.paths[p]
	if i == nil || c.sessions[k.Session] == nil {
		return
	}
	delete(c.paths, p)
	i.standing--
	i.gone, i.removedBy = k.Zxid, request{k.Session, k.Cxid}
	if p == i.path {
		c.order.remove(i, c.claimed)
	}
	c.items.settle(i)
}

// claimed reports whether another session has an existing node named after the item's: that
// consumer has claimed the item.
func (c *itemCommits) claimed(i *Item, session int64) bool {
	name := path.Base(i.path)
	for owner, own := range c.line.Sessions {
		if owner != session && slices.ContainsFunc(own.Standing, func(n *facts.Node) bool { return strings.Contains(n.Path, name) }) {
			return true
		}
	}
	return false
}

// Sequence checks the order in which items leave a queue (rule 9) by the calls, if no commit shows that an
// item was removed: if one put returned before another was called, its node was created first. If the
// later item was delivered before the take of the earlier item was called, it has overtaken it.
//
// It keeps the times of the items in the queue, and for the last takes the newest item that had
// left by then.
type Sequence struct {
	items  *Items
	puts   map[string]putTimes
	early  map[string]earlyTake
	left   []departure // by the time of leaving
	judged int
	late   int // takes too old to compare
	broken evidence
}

type putTimes struct {
	call, back time.Duration
	record     int
}

// earlyTake is a take that was recorded before its put: an item can be delivered before the
// producer has the reply.
type earlyTake struct {
	sample history.Sample
	record int
}

// departure is an item that left the queue; no item that had left by that time was put later.
type departure struct {
	at      time.Duration
	put     time.Duration // call of the newest put
	item    string
	records [2]int // of that item's put and take
}

// keepTakes is the number of takes that are kept for takes that were called before them.
const keepTakes = 1 << 14

// NewSequence returns a check of the order in which items leave the queue.
func NewSequence(q *Items) *Sequence {
	return &Sequence{items: q, puts: map[string]putTimes{}, early: map[string]earlyTake{}}
}

// Record adds the next record.
func (q *Sequence) Record(n history.Numbered) {
	if c := q.items.commits; c == nil || !c.linked || !c.order.removed() {
		q.record(n)
	}
}

// Verdict returns the verdict at the end of the history.
func (q *Sequence) Verdict() Verdict {
	switch c := q.items.commits; {
	case c == nil || !c.linked:
	case c.order.removed() || c.line.IncompleteReason() != "":
		return c.order.verdict(c.line.IncompleteReason())
	case q.judged >= 2 && q.broken.Count == 0:
		return pass("no item's node was removed: only the clients' calls were evaluated")
	}
	return q.byCalls()
}

func (q *Sequence) record(n history.Numbered) {
	s, ok := n.Record.(*history.Sample)
	switch {
	case !ok || s.Item == "":
	case s.Op == history.Put && s.Outcome == history.OK:
		q.puts[s.Item] = putTimes{s.Call, s.Return, n.N}
		if t, ok := q.early[s.Item]; ok {
			delete(q.early, s.Item)
			q.take(&t.sample, t.record)
		}
	case s.Op == history.Put: // its number of nodes and their times are unknown
		delete(q.puts, s.Item)
		delete(q.early, s.Item)
	case s.Op == history.Take && s.Outcome == history.OK:
		q.take(s, n.N)
	}
}

func (q *Sequence) take(s *history.Sample, record int) {
	p, ok := q.puts[s.Item]
	if !ok {
		q.early[s.Item] = earlyTake{*s, record}
		return
	}
	delete(q.puts, s.Item)
	q.judged++
	// The newest item that had left when this take was called.
	i := q.before(s.Call)
	switch {
	case i > 0 && q.left[i-1].put > p.back:
		d := q.left[i-1]
		q.broken.Add([]int{p.record, d.records[0], d.records[1], record},
			"item %q was put at %v (record %d) before item %q was (record %d), but %q had already been taken (record %d) when the take of %q was called, at %v (record %d)",
			s.Item, p.back, p.record, d.item, d.records[0], d.item, d.records[1], s.Item, s.Call, record)
	case i == 0 && len(q.left) == 2*keepTakes:
		q.late++
	}
	q.leave(departure{at: s.Return, put: p.call, item: s.Item, records: [2]int{p.record, record}})
}

// leave records a departure, unless a newer item had left before. It replaces later departures
// of older items.
func (q *Sequence) leave(d departure) {
	i := q.before(d.at)
	if i > 0 && q.left[i-1].put > d.put {
		return
	}
	j := i
	for j < len(q.left) && q.left[j].put < d.put {
		j++
	}
	q.left = slices.Replace(q.left, i, j, d)
	if len(q.left) > 2*keepTakes {
		q.left = append(q.left[:0], q.left[keepTakes:]...)
	}
}

// before returns the number of departures before a time.
func (q *Sequence) before(at time.Duration) int {
	return sort.Search(len(q.left), func(i int) bool { return q.left[i].at >= at })
}

func (q *Sequence) byCalls() Verdict {
	switch {
	case q.broken.Count > 0:
		return q.broken.Fail("overtakings")
	case q.judged < 2:
		return unknown(fmt.Sprintf("%d items were certainly put and taken, but a comparison needs two", q.judged))
	case q.late > 0:
		return unknown(fmt.Sprintf("%d takes were called before the oldest departure that is kept for comparison", q.late))
	}
	return pass(q.items.byCalls()...)
}
