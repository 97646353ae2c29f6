// Package observer reads the ensemble on sessions of the harness: the nodes of a line, the items of a
// queue, and the resource to which holders write with their tokens.
package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
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

// Observer reads the tree with one session per member, so that it sees every member's state, also that of
// isolated members. Its sessions bypass the tap and leave no watch, so that counts are not affected.
type Observer struct {
	Ensemble *ensembles.Ensemble
	timeout  time.Duration
	Root     string       // the root of everything that the run creates
	serving  atomic.Int64 // index of the member that replied last

	sessions []*memberSession // one per member

	mu  sync.Mutex
	ids map[int64]bool // of all sessions, also earlier ones
}

type memberSession struct {
	mu      sync.Mutex
	session *recipes.Session // nil at first
}

// NewObserver returns an observer whose sessions have that timeout, for nodes below root.
func NewObserver(e *ensembles.Ensemble, timeout time.Duration, root string) *Observer {
	o := &Observer{Ensemble: e, timeout: timeout, Root: root, ids: map[int64]bool{}}
	for range e.Members {
		o.sessions = append(o.sessions, &memberSession{})
	}
	return o
}

// Member returns the session with member i, which it opens if necessary.
func (o *Observer) Member(ctx context.Context, i int) (*recipes.Session, error) {
	m := o.sessions[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.session; s != nil && s.Err() == nil {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.openTimeout())
	defer cancel()
	options := HarnessOptions(o.Ensemble, o.timeout)
	options.MaxPacket = 1 << 20
	s, err := recipes.Open(ctx, []string{o.Ensemble.Members[i].Addr}, options)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	m.session, o.ids[s.ID()] = s, true
	return s, nil
}

func (o *Observer) Owns(session int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[session]
}

// MemberTimeout is the time for which the observer waits for a member before it tries the next.
const MemberTimeout = 500 * time.Millisecond

// AnyMember calls f with the session of the member that replied last, and with the next member's if that
// fails, until f succeeds or returns a final error.
func (o *Observer) AnyMember(ctx context.Context, limit time.Duration, f func(context.Context, *recipes.Session) error) (err error) {
	n := int64(len(o.sessions))
	for range 2 * n {
		i := o.serving.Load()
		if err = o.callMember(ctx, int(i), limit, f); err == nil || ctx.Err() != nil || errors.As(err, new(final)) {
			return err
		}
		o.serving.CompareAndSwap(i, (i+1)%n)
	}
	return err
}

func (o *Observer) callMember(ctx context.Context, i int, limit time.Duration, f func(context.Context, *recipes.Session) error) error {
	opening, cancel := context.WithTimeout(ctx, o.openTimeout())
	defer cancel()
	s, err := o.Member(opening, i)
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

// Node is a node as a member sees it. Czxid is the zxid of its creation. Owner is the session that owns it;
// 0 unless it is ephemeral.
type Node struct {
	Path         string
	Czxid, Owner int64
}

// Nodes returns the current nodes below parent at any depth, oldest first. A missing parent has none.
func (o *Observer) Nodes(ctx context.Context, parent string) ([]Node, error) {
	var found []Node
	err := o.ReadCurrent(ctx, func(ctx context.Context, s *recipes.Session) (err error) {
		found, err = allBelow(ctx, s, parent)
		return err
	})
	return found, err
}

// ReadCurrent calls read after a write, so that the member has the current state. A missing node is no error.
func (o *Observer) ReadCurrent(ctx context.Context, read func(context.Context, *recipes.Session) error) error {
	return o.AnyMember(ctx, 4*MemberTimeout, func(ctx context.Context, s *recipes.Session) error {
		if err := s.Delete(ctx, o.Root+"/nothing"); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := read(ctx, s); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		return nil
	})
}

// Owned returns the newest sequential node below parent that the session owns.
func (o *Observer) Owned(ctx context.Context, parent string, session int64) (mine Node, found bool, err error) {
	nodes, err := o.Nodes(ctx, parent)
	for _, n := range nodes { // oldest first
		if n.Owner == session && Sequential.MatchString(n.Path) {
			mine, found = n, true
		}
	}
	return mine, found, err
}

// DeleteOwned deletes the session's ephemeral nodes below parent. operator is the session that deletes them.
func (o *Observer) DeleteOwned(ctx context.Context, parent string, session int64) (operator int64, deleted []string, err error) {
	nodes, err := o.Nodes(ctx, parent)
	if err != nil {
		return 0, nil, err
	}
	err = o.AnyMember(ctx, 4*MemberTimeout, func(ctx context.Context, s *recipes.Session) error {
		operator, deleted = s.ID(), nil
		for _, n := range nodes {
			if n.Owner != session {
				continue
			}
			switch err := s.Delete(ctx, n.Path); {
			case err == nil:
				deleted = append(deleted, n.Path)
			case !errors.Is(err, zk.ErrNoNode):
				return final{fmt.Errorf("delete %s: %w", n.Path, err)}
			}
		}
		return nil
	})
	return operator, deleted, err
}

// Czxid returns the czxid of a session's node, or of a persistent node; 0 if there is none or it is unknown.
func (o *Observer) Czxid(ctx context.Context, path string, session int64) (id int64) {
	_ = o.ReadCurrent(ctx, func(ctx context.Context, s *recipes.Session) error {
		stat, err := s.Exists(ctx, path)
		if stat != nil && (stat.EphemeralOwner == session || stat.EphemeralOwner == 0) {
			id = stat.Czxid
		}
		return err
	})
	return id
}

// allBelow returns the nodes below a path, oldest first, but none below sequential or ephemeral nodes.
func allBelow(ctx context.Context, s *recipes.Session, parent string) (found []Node, err error) {
	names, err := s.List(ctx, parent)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, name := range names {
		g.Go(func() error {
			path := parent + "/" + name
			stat, err := s.Exists(ctx, path)
			if err != nil || stat == nil {
				return err
			}
			var inside []Node
			if stat.EphemeralOwner == 0 && !Sequential.MatchString(path) {
				inside, err = allBelow(ctx, s, path)
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(append(found, Node{path, stat.Czxid, stat.EphemeralOwner}), inside...)
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			return err
		})
	}
	err = g.Wait()
	slices.SortFunc(found, func(a, b Node) int { return cmp.Compare(a.Czxid, b.Czxid) })
	return found, err
}

// Sequential matches the end of a name made by a sequential create.
var Sequential = regexp.MustCompile(`[-0-9][0-9]{9}$`)

// IsRemoved reports whether no member has the node any longer.
func (o *Observer) IsRemoved(ctx context.Context, path string) (bool, error) {
	for i := range o.sessions {
		s, err := o.Member(ctx, i)
		if err != nil {
			return false, err
		}
		if stat, err := s.Exists(ctx, path); stat != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

// AwaitCaughtUp waits until a member has all earlier commits: it has executed a write that changes nothing.
func (o *Observer) AwaitCaughtUp(ctx context.Context, server string) error {
	i := slices.Index(o.Ensemble.Servers(), server)
	if i < 0 {
		return fmt.Errorf("%q is not a member of the ensemble", server)
	}
	ctx, cancel := context.WithTimeout(ctx, MemberTimeout)
	defer cancel()
	s, err := o.Member(ctx, i)
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, o.Root+"/nothing"); !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}

// MeasureFloor returns how long a delete and a read after it take, n times.
func (o *Observer) MeasureFloor(ctx context.Context, n int) (took []time.Duration, err error) {
	path := o.Root + "/floor"
	for range n {
		err = o.AnyMember(ctx, 4*MemberTimeout, func(ctx context.Context, s *recipes.Session) error {
			if _, err := s.Create(ctx, path, nil, zk.FlagEphemeral); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return err
			}
			start := time.Now()
			if err := s.Delete(ctx, path); err != nil {
				return err
			}
			_, err := s.Exists(ctx, o.Root)
			took = append(took, time.Since(start))
			return err
		})
		if err != nil {
			return took, fmt.Errorf("measure a delete and a read: %w", err)
		}
	}
	return took, nil
}

// WatchRemoval watches a node on every member, which costs less than polling. removedAt returns when the
// first member reported the removal, or 0. A member that is killed in the meantime reports nothing; the others
// report the removal. stop must be called.
func (o *Observer) WatchRemoval(ctx context.Context, path string, now func() time.Duration) (removedAt func() time.Duration, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	removed := make(chan time.Duration, len(o.sessions))
	var all sync.WaitGroup
	for i := range o.sessions {
		all.Go(func() {
			if s, err := o.Member(ctx, i); err == nil && s.AwaitGone(ctx, path) == nil {
				removed <- now()
			}
		})
	}
	removedAt = func() time.Duration {
		select {
		case at := <-removed:
			return at
		default:
			return 0
		}
	}
	return removedAt, func() { cancel(); all.Wait() }
}

// Open creates parent, and the nodes above it, as persistent nodes if they do not exist.
func (o *Observer) Open(ctx context.Context, parent string) error {
	err := o.AnyMember(ctx, o.timeout+o.openTimeout(), func(ctx context.Context, s *recipes.Session) error { return s.MakePath(ctx, parent) })
	if err != nil {
		return fmt.Errorf("prepare %s: %w", o.Root, err)
	}
	return nil
}

// Close removes the root with all nodes below it, for up to two minutes while the ensemble serves, and closes the sessions.
func (o *Observer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	remove := func(ctx context.Context, s *recipes.Session) error { return s.RemoveTree(ctx, o.Root) }
	serves := func(ctx context.Context, s *recipes.Session) error { _, err := s.Exists(ctx, o.Root); return err }
	err := o.AnyMember(ctx, 10*time.Second, remove)
	for err != nil && ctx.Err() == nil && o.AnyMember(ctx, 5*time.Second, serves) == nil {
		err = o.AnyMember(ctx, 10*time.Second, remove)
	}
	if err != nil {
		err = fmt.Errorf("remove %s: %w", o.Root, err)
	}
	for _, m := range o.sessions {
		m.mu.Lock()
		if m.session != nil {
			m.session.Close()
		}
		m.mu.Unlock()
	}
	return err
}

// InLine returns the smallest and the largest number of nodes in line below path that a member shows. A missing
// path has none.
func (o *Observer) InLine(ctx context.Context, path string) (fewest, most int, err error) {
	fewest = math.MaxInt
	for i := range o.sessions {
		s, err := o.Member(ctx, i)
		if err != nil {
			return 0, 0, err
		}
		n, err := lineLength(ctx, s, path)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return 0, 0, err
		}
		fewest, most = min(fewest, n), max(most, n)
	}
	return fewest, most, nil
}

// lineLength counts the sequential or ephemeral nodes below path at any depth.
func lineLength(ctx context.Context, s *recipes.Session, path string) (n int, err error) {
	names, err := s.List(ctx, path)
	for _, name := range names {
		if Sequential.MatchString(name) {
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

// NoItems reports whether no member has an item of the queue at path: a persistent node below it that holds one of the
// items, or may hold an encoded one. A missing path has none.
func (o *Observer) NoItems(ctx context.Context, path string, items *Items) (bool, error) {
	for i := range o.sessions {
		s, err := o.Member(ctx, i)
		if err != nil {
			return false, err
		}
		if found, err := anyItem(ctx, s, path, items); found || err != nil {
			return false, err
		}
	}
	return true, nil
}

func anyItem(ctx context.Context, s *recipes.Session, path string, items *Items) (bool, error) {
	names, err := s.List(ctx, path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return false, err
	}
	for _, name := range names {
		found, err := isItem(ctx, s, path+"/"+name, items, items.outstanding())
		if !found && err == nil && !Sequential.MatchString(name) {
			found, err = anyItem(ctx, s, path+"/"+name, items)
		}
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// isItem reports whether the node holds an outstanding item. unnumbered means that also a node without a number may hold an
// encoded item.
func isItem(ctx context.Context, s *recipes.Session, path string, items *Items, unnumbered bool) (bool, error) {
	data, stat, err := s.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil && stat.EphemeralOwner == 0 && items.mayContain(data, unnumbered || Sequential.MatchString(path)), err
}

func (o *Observer) ItemsAmong(ctx context.Context, nodes []Node, items *Items) (found []Node, err error) {
	s, err := o.Member(ctx, 0)
	for i := 0; err == nil && i < len(nodes); i++ {
		var is bool
		if is, err = isItem(ctx, s, nodes[i].Path, items, false); is {
			found = append(found, nodes[i])
		}
	}
	return found, err
}

// Items tracks the items of a queue that were put and not taken, by ID. A node is recognized as an item by
// its data: a recipe may keep journals, claims and records in nodes with similar names.
type Items struct {
	mu    sync.Mutex
	takes map[string]int // how often each item that was put has been received
	shown bool           // a node has contained an item's ID, so the recipe does not encode items
}

// itemIDs matches possible IDs in a node's data, however the recipe encodes the item.
var itemIDs = regexp.MustCompile(`[0-9]+-[0-9]+`)

// maxItemStart is the number of bytes of a node's data that are searched for an ID.
const maxItemStart = 1024

func (o *Items) Put(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.takes == nil {
		o.takes = map[string]int{}
	}
	o.takes[id] = 0
}

// Taken records that a consumer received the item. An item that is received twice was not removed: it is outstanding.
func (o *Items) Taken(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, put := o.takes[id]; put {
		o.takes[id]++
	}
}

// outstanding reports whether an item was put and never received.
func (o *Items) outstanding() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(slices.Collect(maps.Values(o.takes)), 0)
}

// mayContain reports whether a node with that data holds an outstanding item. If encoded is set, data without an ID may be
// an encoded item, unless a node has contained an ID.
func (o *Items) mayContain(data []byte, encoded bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	named, waits := false, false
	for _, id := range itemIDs.FindAll(data[:min(len(data), maxItemStart)], -1) {
		takes, put := o.takes[string(id)]
		named, waits = named || put, waits || put && takes != 1
	}
	o.shown = o.shown || named
	return waits || encoded && !named && !o.shown && len(data) > 0
}
