package verdict

import (
	"path"
	"slices"

	"github.com/zkbench/zkbench/report/history"
)

// line is what stood where, by the servers' commits, as far as those have come. Commits
// come before the first sample of a client that may know of them, so whatever a sample
// speaks of has been seen here.
type line struct {
	nodes    map[string]*node   // by path: the one that stands, or stood last
	sessions map[int64][]*node  // by owner: the ephemeral nodes that stand
	youngest map[int64]int64    // by owner: the czxid of its last ephemeral node
	dirs     map[string]*lineIn // by parent
	end      *history.CommitsEnd
}

// node is one node's life.
type node struct {
	path           string
	session, czxid int64
	gone           int64 // zxid of its removal; 0 while it stands
	withSession    bool  // it went when its session was closed, or had expired
}

// lineIn is the ephemeral nodes below one parent.
type lineIn struct {
	standing []*node // by czxid; some of the first may be gone
	removed  []*node // of late, by zxid of the removal
}

// remember is how many removed nodes of a line are kept for samples of clients that
// are behind.
const remember = 4096

func newLine() *line {
	return &line{nodes: map[string]*node{}, sessions: map[int64][]*node{}, youngest: map[int64]int64{}, dirs: map[string]*lineIn{}}
}

func (l *line) record(r history.Record) {
	switch c := r.(type) {
	case *history.CommitsEnd:
		l.end = c
	case *history.Commit:
		l.commit(c)
	}
}

func (l *line) commit(c *history.Commit) {
	switch c.Op {
	case history.CommitCreate:
		if c.Ephemeral {
			l.create(&node{path: c.Path, session: c.Session, czxid: c.Zxid})
		}
	case history.CommitDelete:
		l.remove(c.Path, c.Zxid, false)
	case history.CommitClose:
		for _, p := range c.Removed {
			l.remove(p, c.Zxid, true)
		}
	}
}

func (l *line) create(n *node) {
	d := l.dirs[path.Dir(n.path)]
	if d == nil {
		d = &lineIn{}
		l.dirs[path.Dir(n.path)] = d
	}
	d.standing = append(d.standing, n)
	l.nodes[n.path] = n
	l.sessions[n.session] = append(l.sessions[n.session], n)
	l.youngest[n.session] = n.czxid
}

func (l *line) remove(p string, zxid int64, withSession bool) {
	n := l.nodes[p]
	if n == nil || n.gone != 0 {
		return
	}
	n.gone, n.withSession = zxid, withSession
	l.sessions[n.session] = slices.DeleteFunc(l.sessions[n.session], func(o *node) bool { return o == n })
	d := l.dirs[path.Dir(p)]
	for len(d.standing) > 0 && d.standing[0].gone != 0 {
		d.standing = d.standing[1:]
	}
	if d.removed = append(d.removed, n); len(d.removed) == 2*remember {
		for _, old := range d.removed[:remember] {
			if l.nodes[old.path] == old {
				delete(l.nodes, old.path)
			}
		}
		d.removed = append(d.removed[:0], d.removed[remember:]...)
	}
}

// find returns the node at the path that was created by that transaction; nil where no
// commit has it.
func (l *line) find(p string, czxid int64) *node {
	if n := l.nodes[p]; n != nil && n.czxid == czxid {
		return n
	}
	return nil
}

// stoodAt says whether the node stood after that transaction.
func (n *node) stoodAt(zxid int64) bool { return n.czxid <= zxid && (n.gone == 0 || n.gone > zxid) }

// aheadOf returns an older node of the same line that stood as long as n did, up to that
// transaction; nil if n was the first at some time.
func (l *line) aheadOf(n *node, zxid int64) *node {
	if n.gone != 0 {
		zxid = min(zxid, n.gone-1)
	}
	d := l.dirs[path.Dir(n.path)]
	for _, o := range d.standing {
		if o.czxid >= n.czxid {
			break
		}
		if o.gone == 0 {
			return o
		}
	}
	for _, o := range slices.Backward(d.removed) {
		if o.gone <= zxid {
			break
		}
		if o.czxid < n.czxid {
			return o
		}
	}
	return nil
}

// incomplete says why the commits do not tell everything; "" where they do. It is asked
// once all have come.
func (l *line) incomplete() string {
	switch {
	case l.end == nil:
		return "the commits have no end"
	case l.end.Err != "":
		return "the commits could not be read: " + l.end.Err
	case len(l.end.Gaps) > 0:
		return "there are gaps in the commits"
	}
	return ""
}
