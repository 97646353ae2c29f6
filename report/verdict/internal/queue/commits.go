package queue

import (
	"container/list"
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// folder has the items whose first node was created in it and exists, in the order of their transactions.
type folder struct {
	list.List
	linked bool // an item that was put was found in it
}

func (q *Items) event(e *history.Session) {
	id := e.Session
	if e.Event == history.Opened {
		q.sessions[id] = &session{client: e.Client}
		q.current[e.Client] = id
		return
	}
	if id == 0 {
		id = q.current[e.Client]
	}
	if s := q.sessions[id]; s != nil {
		s.killed = s.killed || e.Event == history.Killed
		s.ended = s.ended || e.Event == history.Lost || e.Event == history.Expired
	}
}

// Commit adds the next commit. Commits of nodes other than items' have no item ID.
func (q *Items) Commit(c *history.Commit) {
	if c.Op == history.CommitCreate && c.Item != "" {
		q.create(c)
	}
	if i := q.nodes[c.Path]; i != nil && c.Op == history.CommitSet {
		i.changedBy = c.Session
	}
	for _, p := range c.RemovedPaths() {
		q.remove(c, p)
	}
}

func (q *Items) create(c *history.Commit) {
	i := q.of(c.Item)
	i.nodeCount++
	i.existing++
	q.nodes[c.Path] = i
	switch {
	case i.nodeCount == 1:
		i.path, i.createdZxid, i.creator = c.Path, c.Zxid, c.Session
		i.folder = facts.ValueAt(q.folders, path.Dir(i.path))
		i.place = i.folder.PushBack(i)
	case path.Dir(c.Path) != path.Dir(i.path):
		i.moved = true
	case i.removedZxid != c.Zxid:
		q.recreate(i, c)
	}
	q.link(i)
}

// recreate records another node of an item, in the folder of the first. A client that has removed it
// may put it back.
func (q *Items) recreate(i *Item, c *history.Commit) {
	i.recreatedZxid = c.Zxid
	i.markRecreated()
	creator := q.clientOf(c.Session)
	putBack := i.existing == 1 && creator == q.clientOf(i.removedBy.session)
	if creator == q.clientOf(i.creator) && !putBack {
		i.secondNode = c.Zxid
	}
}

// markRecreated records that another node of an item was created after a take had handed it over.
func (i *Item) markRecreated() {
	i.recreated = i.recreated || i.handedZxid > 0 && i.handedZxid < i.recreatedZxid
}

func (q *Items) link(i *Item) {
	if i.Put > 0 && i.nodeCount > 0 {
		q.linked, i.folder.linked = true, true
	}
}

func (q *Items) remove(c *history.Commit, p string) {
	i := q.nodes[p]
	if i == nil || q.sessions[c.Session] == nil {
		return
	}
	delete(q.nodes, p)
	i.existing--
	i.removedZxid, i.removedBy = c.Zxid, request{c.Session, c.Cxid}
	if p == i.path {
		q.leave(i)
	}
	q.settle(i)
}

// couldNotDeliver reports whether the client that removed an item's last node could not hand it over: it
// was killed, or its session ended, before it had any later reply.
func (q *Items) couldNotDeliver(i *Item) bool {
	by := q.sessions[i.removedBy.session]
	return by != nil && (by.killed || by.ended) && by.seenZxid < i.removedZxid
}

// clientOf returns the client of a session; -1 if unknown.
func (q *Items) clientOf(session int64) int {
	if s := q.sessions[session]; s != nil {
		return s.client
	}
	return -1
}

// movedUndelivered reports whether a consumer has moved an item to another folder, where it still exists,
// and has not handed it over although it could have.
func (q *Items) movedUndelivered(i *Item) bool {
	if i.existing == 0 || !i.left || !i.moved || i.taken > 0 || i.maybeTaken || q.delivery == AtMostOnce {
		return false
	}
	by := q.clientOf(i.removedBy.session)
	return by != q.clientOf(i.creator) && !q.couldNotDeliver(i) && q.unnamed[by] == 0
}

// claimed reports whether another session may have claimed an item: it has changed the item's data, or had a node named
// after the item's at some time in these transactions.
func (q *Items) claimed(i *Item, session, from, to int64) bool {
	name := path.Base(i.path)
	claims := func(n *facts.Node) bool {
		return n.Session != session && n.Czxid <= to && strings.Contains(n.Path, name)
	}
	if i.changedBy != 0 && i.changedBy != session && i.changedBy != i.creator {
		return true
	}
	for _, own := range q.commits.Sessions {
		if slices.ContainsFunc(own.Existing, claims) {
			return true
		}
	}
	for _, dir := range q.commits.Dirs {
		for _, n := range slices.Backward(dir.Removed) {
			if n.RemovedZxid <= from {
				break
			}
			if claims(n) {
				return true
			}
		}
	}
	return false
}
