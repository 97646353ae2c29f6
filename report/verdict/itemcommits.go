package verdict

import (
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/history"
)

// itemCommits tracks the nodes of a queue's items in the servers' commits. Commits of other nodes
// have no item ID.
type itemCommits struct {
	items    *items
	line     *nodeTable       // the consumers' nodes
	paths    map[string]*item // by the path of an existing node
	sessions map[int64]*consumer
	current  map[int]int64 // session, by client
	lost     map[request]bool
	order    itemOrder
	linked   bool               // an item that was put was found in a node: items are recognizable by their nodes' data
	homes    map[*itemLine]bool // where such items were first
}

type request struct {
	session int64
	cxid    int32
}

// consumer is the knowledge about a session.
type consumer struct {
	client int
	knew   int64 // highest zxid that the client had seen by its last operation
	killed bool  // the harness killed the client
	ended  bool  // it was notified of the session's end
}

func newItemCommits(q *items, l *nodeTable) *itemCommits {
	return &itemCommits{items: q, line: l, paths: map[string]*item{}, sessions: map[int64]*consumer{}, current: map[int]int64{},
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

// knows records a client's knowledge at the end of an operation.
func (c *itemCommits) knows(s *history.Sample) {
	if w := c.sessions[c.current[s.Client]]; w != nil && !w.ended && !w.killed {
		w.knew = max(w.knew, s.Zxid)
	}
}

func (c *itemCommits) commit(r history.Record) {
	k, ok := r.(*history.Commit)
	if !ok {
		return // their end
	}
	switch {
	case k.Op == history.CommitCreate && k.Item != "":
		c.create(k)
	case k.Op == history.CommitDelete:
		c.remove(k, k.Path)
	case k.Op == history.CommitClose:
		for _, p := range k.Removed {
			c.remove(k, p)
		}
	}
}

func (c *itemCommits) create(k *history.Commit) {
	i := c.items.of(k.Item)
	i.made++
	i.standing++
	c.paths[k.Path] = i
	switch {
	case i.made > 1 && path.Dir(k.Path) != path.Dir(i.path):
		i.moved = true
	case i.made == 1:
		i.path, i.created, i.maker = k.Path, k.Zxid, k.Session
		c.order.joined(i)
	case i.gone != k.Zxid:
		c.remade(i, k)
	}
	if i.put > 0 {
		c.link(i)
	}
}

// remade records another node of an item, in the line of the first. A client that has removed it
// may put it back.
func (c *itemCommits) remade(i *item, k *history.Commit) {
	i.remade = k.Zxid
	i.revive()
	maker := c.clientOf(k.Session)
	putBack := i.standing == 1 && maker == c.clientOf(i.by.session)
	if maker == c.clientOf(i.maker) && !putBack {
		i.again = k.Zxid
	}
}

// revive records that another node of an item was created after a take had handed it over.
func (i *item) revive() { i.recreated = i.recreated || i.handed > 0 && i.handed < i.remade }

func (c *itemCommits) link(i *item) {
	c.linked, c.homes[i.in] = true, true
}

// couldNot reports whether the client that removed an item's last node could not hand it over: it
// was killed, or its session ended, before it had any later reply.
func (c *itemCommits) couldNot(i *item) bool {
	by := c.sessions[i.by.session]
	return by != nil && (by.killed || by.ended) && by.knew < i.gone
}

// movedUndelivered reports whether a consumer has moved an item to another folder, where it still is, and
// could have handed it over, and did not.
func (q *items) movedUndelivered(i *item) bool {
	if i.standing == 0 || !i.left || !i.moved || i.taken > 0 || i.maybeTaken || q.delivery == AtMostOnce {
		return false
	}
	c := q.commits
	by := c.clientOf(i.by.session)
	return by != c.clientOf(i.maker) && !c.couldNot(i) && q.unnamed[by] == 0
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
	i.gone, i.by = k.Zxid, request{k.Session, k.Cxid}
	if p == i.path {
		c.order.leaves(i, c.claimed)
	}
	c.items.settle(i)
}

// claimed reports whether another session has an existing node named after the item's: that
// consumer has claimed the item.
func (c *itemCommits) claimed(i *item, session int64) bool {
	name := path.Base(i.path)
	for owner, own := range c.line.sessions {
		if owner != session && slices.ContainsFunc(own.standing, func(n *node) bool { return strings.Contains(n.path, name) }) {
			return true
		}
	}
	return false
}

// incomplete returns why the commits are incomplete, or "".
func (c *itemCommits) incomplete() string { return c.line.incomplete() }
