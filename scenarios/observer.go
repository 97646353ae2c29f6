package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"golang.org/x/sync/errgroup"
)

// observer reads the tree with one session per member, so that it sees every member's state, also
// while some members are isolated. Its sessions bypass the tap and leave no watch, so that counts
// are not affected.
type observer struct {
	ensemble *ensembles.Ensemble
	timeout  time.Duration
	root     string       // the root of everything that the run creates
	serving  atomic.Int64 // index of the member that replied last

	posts []*post // one per member

	mu  sync.Mutex
	ids map[int64]bool // of all its sessions
}

type post struct {
	mu      sync.Mutex
	session *recipes.Session // nil at first
}

func newObserver(e *ensembles.Ensemble, timeout time.Duration, root string) *observer {
	o := &observer{ensemble: e, timeout: timeout, root: root, ids: map[int64]bool{}}
	for range e.Members {
		o.posts = append(o.posts, &post{})
	}
	return o
}

func (o *observer) member(ctx context.Context, i int) (*recipes.Session, error) {
	post := o.posts[i]
	post.mu.Lock()
	defer post.mu.Unlock()
	if s := post.session; s != nil && s.Err() == nil {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.tryFor())
	defer cancel()
	options := harnessOptions(o.ensemble, o.timeout)
	options.MaxPacket = 1 << 20
	s, err := recipes.Open(ctx, []string{o.ensemble.Members[i].Addr}, options)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	post.session, o.ids[s.ID()] = s, true
	return s, nil
}

func (o *observer) owns(session int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[session]
}

// tryFor is the time for which the observer waits for one member before it tries the next.
const tryFor = 500 * time.Millisecond

// any calls f with the session of the member that replied last, and with the next member's if that
// fails, until f succeeds or returns a final error.
func (o *observer) any(ctx context.Context, limit time.Duration, f func(context.Context, *recipes.Session) error) (err error) {
	n := int64(len(o.posts))
	for range 2 * n {
		i := o.serving.Load()
		if err = o.ask(ctx, int(i), limit, f); err == nil || ctx.Err() != nil || errors.As(err, new(final)) {
			return err
		}
		o.serving.CompareAndSwap(i, (i+1)%n)
	}
	return err
}

func (o *observer) ask(ctx context.Context, i int, limit time.Duration, f func(context.Context, *recipes.Session) error) error {
	opening, cancel := context.WithTimeout(ctx, o.tryFor())
	defer cancel()
	s, err := o.member(opening, i)
	if err == nil {
		err = s.AwaitConnected(opening)
	}
	if err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx, s)
}

// final is an error that every member would return.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

type node struct {
	path         string
	czxid, owner int64
}

// nodes returns the current nodes below the contested parent at any depth, oldest first. A missing
// parent has none.
func (o *observer) nodes(ctx context.Context, parent string) ([]node, error) {
	found, err := o.now(ctx, parent, allBelow)
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return found, err
}

// now reads below the parent after a write, so that the member has the current state.
func (o *observer) now(ctx context.Context, parent string, read func(context.Context, *recipes.Session, string) ([]node, error)) (found []node, err error) {
	err = o.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		if err := s.Delete(ctx, o.root+"/nothing"); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		found, err = read(ctx, s, parent)
		return err
	})
	return found, err
}

// owned returns the newest sequential node below parent that the session owns.
func (o *observer) owned(ctx context.Context, parent string, session int64) (mine node, found bool, err error) {
	err = o.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		nodes, err := allBelow(ctx, s, parent)
		mine, found = node{}, false
		for _, n := range nodes {
			if n.owner == session && sequential.MatchString(n.path) && n.czxid > mine.czxid {
				mine, found = n, true
			}
		}
		return err
	})
	return mine, found, err
}

// deleteOwned deletes the ephemeral nodes below parent that the session owns. It returns their paths
// and the session that deleted them.
func (o *observer) deleteOwned(ctx context.Context, parent string, session int64) (operator int64, deleted []string, err error) {
	nodes, err := o.nodes(ctx, parent)
	if err != nil {
		return 0, nil, err
	}
	err = o.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		operator, deleted = s.ID(), nil
		for _, n := range nodes {
			if n.owner != session {
				continue
			}
			switch err := s.Delete(ctx, n.path); {
			case err == nil:
				deleted = append(deleted, n.path)
			case !errors.Is(err, zk.ErrNoNode):
				return final{fmt.Errorf("delete %s: %w", n.path, err)}
			}
		}
		return nil
	})
	return operator, deleted, err
}

func (o *observer) czxid(ctx context.Context, path string) (id int64) {
	_ = o.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		stat, err := s.Exists(ctx, path)
		if stat != nil {
			id = stat.Czxid
		}
		return err
	})
	return id
}

// nodesBelow returns the children of a path as a member sees them, oldest first.
func nodesBelow(ctx context.Context, s *recipes.Session, parent string) ([]node, error) {
	names, err := s.List(ctx, parent)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []node
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, name := range names {
		g.Go(func() error {
			stat, err := s.Exists(ctx, parent+"/"+name)
			if err != nil || stat == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, node{parent + "/" + name, stat.Czxid, stat.EphemeralOwner})
			return nil
		})
	}
	err = g.Wait()
	oldestFirst(found)
	return found, err
}

// allBelow returns the nodes below a path at any depth, oldest first. It does not descend into
// nodes that are sequential or ephemeral.
func allBelow(ctx context.Context, s *recipes.Session, parent string) ([]node, error) {
	found, err := nodesBelow(ctx, s, parent)
	for _, n := range found {
		if err != nil || n.owner != 0 || sequential.MatchString(n.path) {
			continue
		}
		var inside []node
		inside, err = allBelow(ctx, s, n.path)
		found = append(found, inside...)
		if errors.Is(err, zk.ErrNoNode) {
			err = nil
		}
	}
	oldestFirst(found)
	return found, err
}

func oldestFirst(nodes []node) {
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.czxid, b.czxid) })
}

var sequential = regexp.MustCompile(`[-0-9][0-9]{9}$`) // matches the end of a name made by a sequential create

// gone reports whether no member has the node any longer.
func (o *observer) gone(ctx context.Context, path string) (bool, error) {
	for i := range o.posts {
		s, err := o.member(ctx, i)
		if err != nil {
			return false, err
		}
		if stat, err := s.Exists(ctx, path); stat != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

// caughtUp returns when the member with that address has all earlier commits: it has executed a
// write that changes nothing.
func (o *observer) caughtUp(ctx context.Context, server string) error {
	i := slices.Index(o.ensemble.Servers(), server)
	if i < 0 {
		return fmt.Errorf("%q is no member", server)
	}
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	s, err := o.member(ctx, i)
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, o.root+"/nothing"); !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}

// watchRemoval watches a node on every member, which costs less than polling. seen returns when the
// first member removed it; 0 if none was seen to. A member that is killed in the meantime reports
// nothing; the others do. stop must be called.
func (o *observer) watchRemoval(ctx context.Context, path string, now func() time.Duration) (seen func() time.Duration, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	removed := make(chan time.Duration, len(o.posts))
	var all sync.WaitGroup
	for i := range o.posts {
		all.Go(func() {
			if s, err := o.member(ctx, i); err == nil && s.AwaitGone(ctx, path) == nil {
				removed <- now()
			}
		})
	}
	seen = func() time.Duration {
		select {
		case at := <-removed:
			return at
		default:
			return 0
		}
	}
	return seen, func() { cancel(); all.Wait() }
}

func (o *observer) open(ctx context.Context, parent string) error {
	err := o.any(ctx, o.timeout+o.tryFor(), func(ctx context.Context, s *recipes.Session) error { return s.MakePath(ctx, parent) })
	if err != nil {
		return fmt.Errorf("prepare %s: %w", o.root, err)
	}
	return nil
}

// close removes everything below the root and closes the sessions. It continues as long as the
// ensemble serves, for up to two minutes.
func (o *observer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	remove := func(ctx context.Context, s *recipes.Session) error { return s.RemoveTree(ctx, o.root) }
	serves := func(ctx context.Context, s *recipes.Session) error { _, err := s.Exists(ctx, o.root); return err }
	err := o.any(ctx, 10*time.Second, remove)
	for err != nil && ctx.Err() == nil && o.any(ctx, 5*time.Second, serves) == nil {
		err = o.any(ctx, 10*time.Second, remove)
	}
	if err != nil {
		err = fmt.Errorf("remove %s: %w", o.root, err)
	}
	for _, post := range o.posts {
		post.mu.Lock()
		if post.session != nil {
			post.session.Close()
		}
		post.mu.Unlock()
	}
	return err
}

// inQueue returns nodes of a queue, including the items that its recipe keeps in sub-folders.
func (o *observer) inQueue(ctx context.Context, parent string) ([]node, error) {
	return o.now(ctx, parent, func(ctx context.Context, s *recipes.Session, parent string) ([]node, error) {
		found, err := nodesBelow(ctx, s, parent)
		for _, folder := range found {
			if folder.owner != 0 || sequential.MatchString(folder.path) || err != nil {
				continue
			}
			var inside []node
			inside, err = nodesBelow(ctx, s, folder.path)
			found = append(found, slices.DeleteFunc(inside, func(n node) bool { return n.owner != 0 })...)
		}
		return found, err
	})
}

// children returns the smallest and the largest number of sequential children of path that the
// members show. A missing path has none.
func (o *observer) children(ctx context.Context, path string) (fewest, most int, err error) {
	return o.count(ctx, func(s *recipes.Session) (int, error) {
		names, err := s.List(ctx, path)
		return len(slices.DeleteFunc(names, func(name string) bool { return !sequential.MatchString(name) })), err
	})
}

// inLine returns the smallest number of nodes in line below path that a member shows.
func (o *observer) inLine(ctx context.Context, path string) (fewest int, err error) {
	fewest, _, err = o.count(ctx, func(s *recipes.Session) (int, error) { return lineLength(ctx, s, path) })
	return fewest, err
}

// count returns the smallest and the largest of the members' counts. A missing path counts as 0.
func (o *observer) count(ctx context.Context, of func(*recipes.Session) (int, error)) (fewest, most int, err error) {
	for i := range o.posts {
		s, err := o.member(ctx, i)
		if err != nil {
			return 0, 0, err
		}
		n, err := of(s)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return 0, 0, err
		}
		if i == 0 {
			fewest = n
		}
		fewest, most = min(fewest, n), max(most, n)
	}
	return fewest, most, nil
}

// lineLength counts the sequential or ephemeral nodes below path at any depth.
func lineLength(ctx context.Context, s *recipes.Session, path string) (n int, err error) {
	names, err := s.List(ctx, path)
	for _, name := range names {
		if sequential.MatchString(name) {
			n++
			continue
		}
		child := path + "/" + name
		stat, err := s.Exists(ctx, child)
		switch {
		case err != nil:
			return n, err
		case stat == nil:
		case stat.EphemeralOwner != 0:
			n++
		default:
			more, err := lineLength(ctx, s, child)
			if n += more; err != nil && !errors.Is(err, zk.ErrNoNode) {
				return n, err
			}
		}
	}
	return n, err
}

// itemless reports whether no member has an item of the queue at path: a persistent sequential
// node, there or in a sub-folder, that holds one of the items. A missing path has none.
func (o *observer) itemless(ctx context.Context, path string, items *outstanding) (bool, error) {
	for i := range o.posts {
		s, err := o.member(ctx, i)
		if err != nil {
			return false, err
		}
		if found, err := anyItem(ctx, s, path, items, true); found || err != nil {
			return false, err
		}
	}
	return true, nil
}

func anyItem(ctx context.Context, s *recipes.Session, path string, items *outstanding, folders bool) (bool, error) {
	names, err := s.List(ctx, path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return false, err
	}
	for _, name := range names {
		if !sequential.MatchString(name) {
			continue
		}
		if found, err := isItem(ctx, s, path+"/"+name, items); found || err != nil {
			return found, err
		}
	}
	for _, name := range names {
		if !folders || sequential.MatchString(name) {
			continue
		}
		if found, err := anyItem(ctx, s, path+"/"+name, items, false); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func isItem(ctx context.Context, s *recipes.Session, path string, items *outstanding) (bool, error) {
	data, stat, err := s.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil && stat.EphemeralOwner == 0 && items.in(data), err
}

func (o *observer) itemsAmong(ctx context.Context, nodes []node, items *outstanding) (found []node, err error) {
	s, err := o.member(ctx, 0)
	for _, n := range nodes {
		if err != nil {
			return nil, err
		}
		var is bool
		if is, err = isItem(ctx, s, n.path, items); is {
			found = append(found, n)
		}
	}
	return found, err
}
