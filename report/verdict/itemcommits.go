package verdict

import (
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/history"
)

// itemCommits follows the nodes of a queue's items by the servers' commits. A node that
// is no item's has no identity in its commit.
type itemCommits struct {
	items    *items
	line     *line            // the consumers' nodes
	paths    map[string]*item // by the path of a node that stands
	sessions map[int64]*consumer
	current  map[int]int64 // session, by client
	lost     map[request]bool
	order    itemOrder
	linked   bool               // an item that was put was found in a node: they can be told by what nodes hold
	homes    map[*itemLine]bool // where such items stood first
}

// request is a client's request, by its session and number.
type request struct {
	session int64
	cxid    int32
}

// consumer is what is known of a session.
type consumer struct {
	client int
	knew   int64 // highest zxid that the client had seen by its last operation
	killed bool  // the harness killed the client
	ended  bool  // it heard that the session is gone
}

func newItemCommits(q *items, l *line) *itemCommits {
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

// knows takes in what a client had seen by the end of an operation.
func (c *itemCommits) knows(s *history.Sample) {
	if w := c.sessions[c.current[s.Client]]; w != nil && !w.ended && !w.killed {
		w.knew = max(w.knew, s.Zxid)
	}
}

// commit takes the next commit.
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

// remade takes in another node of an item, in the line of the first. Who has removed it may put
// it back.
func (c *itemCommits) remade(i *item, k *history.Commit) {
	i.remade = k.Zxid
	i.revive()
	maker := c.clientOf(k.Session)
	putBack := i.standing == 1 && maker == c.clientOf(i.by.session)
	if maker == c.clientOf(i.maker) && !putBack {
		i.again = k.Zxid
	}
}

// revive notes that another node of an item was made when a take had handed it over already.
func (i *item) revive() { i.revived = i.revived || i.handed > 0 && i.handed < i.remade }

// link takes in that an item that was put is found in a node.
func (c *itemCommits) link(i *item) {
	c.linked, c.homes[i.in] = true, true
}

// couldNot says that who removed an item's last node could not hand it over: it was killed, or
// its session ended, before it had any reply from after that.
func (c *itemCommits) couldNot(i *item) bool {
	by := c.sessions[i.by.session]
	return by != nil && (by.killed || by.ended) && by.knew < i.gone
}

// astray says that a consumer has moved an item to another folder, where it stands, and could
// have handed it over, and did not.
func (q *items) astray(i *item) bool {
	if i.standing == 0 || !i.left || !i.moved || i.taken > 0 || i.had || q.delivery == AtMostOnce {
		return false
	}
	c := q.commits
	by := c.clientOf(i.by.session)
	return by != c.clientOf(i.maker) && !c.couldNot(i) && q.unnamed[by] == 0
}

// clientOf is the client whose session it is; -1 where nobody knows.
func (c *itemCommits) clientOf(session int64) int {
	if s := c.sessions[session]; s != nil {
		return s.client
	}
	return -1
}

func (c *itemCommits) remove(k *history.Commit, p string) {
	i := c.paths[p]
	if i == nil || c.sessions[k.Session] == nil {
		return // what zkbench clears away stood to the end
	}
	delete(c.paths, p)
	i.standing--
	i.gone, i.by = k.Zxid, request{k.Session, k.Cxid}
	if p == i.path {
		c.order.leaves(i, c.claimed)
	}
	c.items.settle(i)
}

// claimed says that another session than the one at hand has a node that stands and is
// named after the item's: it has the item, and is about to take it.
func (c *itemCommits) claimed(i *item, session int64) bool {
	name := path.Base(i.path)
	for owner, own := range c.line.sessions {
		if owner != session && slices.ContainsFunc(own.standing, func(n *node) bool { return strings.Contains(n.path, name) }) {
			return true
		}
	}
	return false
}

// incomplete says why the commits do not tell everything; "" where they do.
func (c *itemCommits) incomplete() string { return c.line.incomplete() }
