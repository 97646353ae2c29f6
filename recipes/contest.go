package recipes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

// contest is the mechanism of locks, elections, read-write locks and semaphores: every contender creates
// an ephemeral sequential node, the node with the lowest number holds the grant, and all others wait. (ZooKeeper Recipes and Solutions: "Locks", "Leader Election".)
type contest struct {
	s       *Session
	parent  string
	prefix  string // "-lock-": part of node names between ID and sequence
	variant Variant
	data    []byte // data that observers see of this contender; may be empty

	blockedBy []string // prefixes of the nodes that block this contender when they are ahead; nil: prefix
	permits   int      // number of contenders that may hold at the same time; 0 means 1

	headWaits bool // of a barrier: the first in line waits as well

	unmarked bool // releases leave no mark, so a notified waiter lists

	start string // of the names of nodes, before the random ID
	// wait waits until it is the node's turn; nil: the variant decides how.
	wait func(ctx context.Context, node string, listed reply) error
}

// errVanished means that an operator deleted our node, or its parent: the contender must join the line again.
var errVanished = errors.New("the client's node was deleted, but its session is alive")

// acquire joins the line, waits, and returns the grant. On an error, including cancellation, it leaves
// no node in a live session.
func (c contest) acquire(ctx context.Context) (*Grant, error) {
	for {
		g, err := c.acquireOnce(ctx, true)
		if !errors.Is(err, errVanished) {
			return g, err
		}
	}
}

// acquireOnce joins the line only once. Without wait it returns ErrNotAcquired if another contender is ahead.
func (c contest) acquireOnce(ctx context.Context, wait bool) (g *Grant, err error) {
	at, listed, err := enter(ctx, c.s, c.parent, c.start+client.NewID(), c.prefix, c.data)
	if err != nil {
		return nil, err
	}
	defer func() { // a panic must not leave a node either
		if g == nil {
			c.s.cleanUp(ctx, func(ctx context.Context) error { return c.s.remove(ctx, at.node) })
		}
	}()
	return c.awaitTurn(ctx, at, listed, wait)
}

// awaitTurn returns the grant when it is the node's turn. listed is the parent's list at its creation, if known.
func (c contest) awaitTurn(ctx context.Context, at createdNode, listed reply, wait bool) (_ *Grant, err error) {
	for ; ; listed = (reply{}) {
		if listed, err = c.listIfEmpty(ctx, listed); err != nil {
			return nil, err
		}
		turn, err := c.isTurn(at.node, listed.names)
		if err != nil {
			return nil, err
		}
		if !turn && !wait {
			return nil, ErrNotAcquired
		}
		if !turn {
			if err := c.await(ctx, at.node, listed); err != nil {
				return nil, err
			}
			if err := c.confirm(ctx, at.node); err != nil {
				return nil, err
			}
		}
		if g, standing := newGrant(c.s, at.node, at.czxid); standing {
			if c.usesMarks() {
				g.markAt = c.parent
			}
			return g, nil
		}
		// Disconnected since the last reply: list again after reconnecting.
		if err := c.s.AwaitConnected(ctx); err != nil {
			return nil, err
		}
	}
}

// confirm checks a session that waited for so long that it may have expired, by a write that changes nothing and a
// read of our node. If both succeed it is still our turn: no contender can have joined ahead of us.
func (c contest) confirm(ctx context.Context, node string) error {
	if c.s.confirmed() {
		return nil
	}
	if err := c.s.barrier(ctx, node+"-barrier"); err != nil {
		return err
	}
	stat, err := c.s.Exists(ctx, node)
	if err == nil && stat == nil {
		err = errVanished
	}
	return err
}

func (c contest) isTurn(node string, names []string) (bool, error) {
	n, _, err := c.ahead(node, names)
	return n < max(c.permits, 1) && !c.headWaits, err
}

// ahead returns how many nodes block this one, and the name of the last of them.
func (c contest) ahead(node string, names []string) (n int, last string, err error) {
	blockedBy := c.blockedBy
	if blockedBy == nil {
		blockedBy = []string{c.prefix}
	}
	n, last, found := ahead(names, client.Base(node), c.prefix, blockedBy...)
	if !found {
		return 0, "", errVanished
	}
	return n, last, nil
}

func (c contest) list(ctx context.Context, watch bool) (reply, error) {
	listed, err := c.s.list(ctx, c.parent, watch)
	return listed, mapNoNode(err)
}

func (c contest) listIfEmpty(ctx context.Context, listed reply) (reply, error) {
	if listed.names != nil {
		return listed, nil
	}
	return c.list(ctx, false)
}

func mapNoNode(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return errVanished
	}
	return err
}

// await returns when it is our turn. listed is the list that showed that it was not our turn yet.
func (c contest) await(ctx context.Context, node string, listed reply) error {
	switch {
	case c.wait != nil:
		return c.wait(ctx, node, listed)
	case c.variant == Parent:
		return c.awaitParent(ctx, node)
	}
	return c.awaitPredecessor(ctx, node, listed)
}

// awaitParent watches the parent's children: every change notifies every waiter, and each lists and
// watches again. This is the herd effect, implemented on purpose.
func (c contest) awaitParent(ctx context.Context, node string) error {
	for {
		if turn, err := c.awaitChange(ctx, node); turn || err != nil {
			return err
		}
	}
}

// awaitChange lists with a watch. It returns true if it is our turn, and false once the children have changed.
func (c contest) awaitChange(ctx context.Context, node string) (turn bool, err error) {
	got, err := c.list(ctx, true)
	if err != nil {
		return false, err
	}
	if turn, err := c.isTurn(node, got.names); turn || err != nil {
		return turn, err
	}
	_, err = c.s.wake(ctx, got.watch)
	return false, err
}

// awaitPredecessor watches only the node directly before its own, whose deletion notifies only this client.
func (c contest) awaitPredecessor(ctx context.Context, node string, listed reply) (err error) {
	for ; ; listed = (reply{}) {
		if listed, err = c.listIfEmpty(ctx, listed); err != nil {
			return err
		}
		n, next, err := c.ahead(node, listed.names)
		if n == 0 || err != nil {
			return err
		}
		// Not exists: on a missing node it would set a watch for a creation that never comes, which
		// the servers keep until the session ends.
		got, err := c.s.get(ctx, c.parent+"/"+next, true)
		if errors.Is(err, zk.ErrNoNode) {
			continue // deleted between list and get: there will be no notification
		}
		if err != nil {
			return err
		}
		event, err := c.s.wake(ctx, got.watch)
		if err != nil {
			return err
		}
		if event.Type != zk.EventNodeDeleted || !c.usesMarks() {
			continue
		}
		if turn, err := c.allDeleted(ctx, n, next, listed.stat); turn || err != nil {
			return err
		}
	}
}

// wake returns the event when one of at most two watches fires, or a zero event when the connection has been
// restored after a loss: go-zookeeper sets watches again after a reconnect but only logs a failure, so a
// waiter that relied on it could wait forever.
func (s *Session) wake(ctx context.Context, watch <-chan zk.Event, also ...<-chan zk.Event) (e zk.Event, err error) {
	var second <-chan zk.Event
	if len(also) > 0 {
		second = also[0]
	}
	for state, changed := s.currentState(); ; {
		select {
		case e = <-watch:
		case e = <-second:
		case <-ctx.Done():
			return zk.Event{}, ctx.Err()
		case <-changed:
			was := state
			state, changed = s.currentState()
			if state != ended && (state != connected || was == connected) {
				continue
			}
		}
		if e.Type == zk.EventNotWatching {
			e = zk.Event{}
		}
		return e, s.Err()
	}
}

type acquirer func(context.Context) (*Grant, error)

type contender struct {
	s       *Session
	acquire acquirer
	shared  acquirer                            // of a read-write lock: acquires for reading
	release func(context.Context, *Grant) error // nil: Grant.Release
	events  func(Event)

	mu    sync.Mutex
	grant *Grant
}

func openContender(bind func(s *Session, env Env) *contender) func(context.Context, Env) (Client, error) {
	return func(ctx context.Context, env Env) (Client, error) {
		s, err := env.open(ctx)
		if err != nil {
			return nil, err
		}
		c := bind(s, env)
		c.s, c.events = s, env.event
		return c, nil
	}
}

func (e Env) open(ctx context.Context) (*Session, error) {
	return Open(ctx, e.Servers, Options{Timeout: e.Timeout, Dial: e.Dial, MaxPacket: e.MaxPacket, Auth: e.Auth, ACL: e.ACL})
}

func (e Env) event(what Event) {
	if e.Events != nil {
		e.Events(what)
	}
}

var eventOf = map[GrantState]EventKind{Suspended: EventSuspended, Held: EventRestored, Lost: EventLost}

func (c *contender) Acquire(ctx context.Context) (Claim, error) { return c.hold(c.acquire(ctx)) }

func (c *contender) AcquireWith(ctx context.Context, o AcquireOptions) (Claim, error) {
	if o.Mode == Read {
		return c.hold(c.shared(ctx))
	}
	return c.Acquire(ctx)
}

func (c *contender) hold(g *Grant, err error) (Claim, error) {
	if err != nil {
		return Claim{}, err
	}
	c.mu.Lock()
	c.grant = g
	c.mu.Unlock()
	g.notify(func(state GrantState) {
		if kind, known := eventOf[state]; known {
			c.events(Event{Kind: kind, Token: g.Token})
		}
	})
	return Claim{Token: g.Token, Session: g.SessionID, Path: g.Path}, nil
}

var errNothingHeld = errors.New("release: nothing is held")

func (c *contender) Release(ctx context.Context) error {
	c.mu.Lock()
	g := c.grant
	c.grant = nil
	c.mu.Unlock()
	if g == nil {
		return errNothingHeld
	}
	if c.release != nil {
		return c.release(ctx, g)
	}
	return g.Release(ctx)
}

func (c *contender) Write(ctx context.Context, path, value string) error {
	_, err := c.s.Set(ctx, path, []byte(value), -1)
	return err
}

func (c *contender) Holds() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.grant != nil && c.grant.State() == Held
}

func (c *contender) Close(context.Context) error { return c.s.Close() }

type entry struct {
	s      *Session
	path   string // of the node, without its sequence number
	id     string // the random ID at the start of its name
	parent string
	data   []byte

	mayExist bool // whether the node may exist

	// pending delivers the outcome of the last create. That create has no context: until it is sent,
	// it is unknown whether a node will have to be removed.
	pending chan createResult
	sent    *sentCreate // record of the last create
}

type createResult struct {
	createdNode
	err error
}

type createdNode struct {
	node  string
	czxid int64
}

// enter creates an ephemeral sequential node under parent and lists the parent directly after that, in
// one round trip: the list is sent before the reply arrives. listed is empty if the list failed.
//
// The create is protected: the name begins with the random id, so that the node can be found after a
// lost reply. A node is adopted only if its ephemeralOwner is this session. If enter fails, it removes
// every node that it may have created.
func enter(ctx context.Context, s *Session, parent, id, prefix string, data []byte) (at createdNode, listed reply, err error) {
	e := &entry{s: s, parent: parent, id: id, path: parent + "/" + id + prefix, data: data}
	entered := false
	defer func() {
		if !entered && e.mayExist {
			s.cleanUp(ctx, e.undo)
		}
	}()
	for again := true; again; {
		again = false
		at, listed, err = e.createAndList(ctx)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			err = s.MakePath(ctx, parent)
			again = err == nil
		case errors.Is(err, ErrConnectionLost):
			listed = reply{}
			at, err = s.find(ctx, parent, id)
			again = at.node == "" && (err == nil || errors.Is(err, ErrConnectionLost))
		}
	}
	if err != nil {
		return createdNode{}, reply{}, fmt.Errorf("create a node in line at %s: %w", parent, err)
	}
	entered = true
	return at, listed, nil
}

// createAndList sends the list as soon as the create has been written. The servers answer the requests
// of a session in order, so the list includes the new node.
//
// A create's reply comes over a connection that the servers have accepted for this session
// (Session.admit), so the node belongs to this session; the reply's zxid is the node's czxid.
func (e *entry) createAndList(ctx context.Context) (at createdNode, listed reply, err error) {
	s := e.s
	sent, pending := s.expectCreate(e.path), make(chan createResult, 1)
	e.sent, e.pending, e.mayExist = sent, pending, true
	forever := context.WithoutCancel(ctx)
	go func() {
		node, err := s.Create(forever, e.path, e.data, zk.FlagEphemeral|zk.FlagSequence)
		s.takeCreate(e.path) // if it was not sent
		pending <- createResult{createdNode{node, sent.zxid}, err}
	}()
	select {
	case <-sent.written:
		listed, _ = s.list(ctx, e.parent, false) // on an error the caller lists again
	case r := <-pending:
		return r.createdNode, reply{}, e.recordResult(r)
	case <-ctx.Done():
		return createdNode{}, reply{}, ctx.Err()
	}
	select {
	case r := <-pending:
		return r.createdNode, listed, e.recordResult(r)
	case <-ctx.Done():
		return createdNode{}, reply{}, ctx.Err()
	}
}

func (e *entry) recordResult(r createResult) error {
	e.pending = nil
	e.mayExist = r.err == nil || Indeterminate(r.err)
	return r.err
}

func (e *entry) undo(ctx context.Context) error {
	if e.pending != nil {
		// Wait: the create might otherwise be sent after the requests below.
		select {
		case <-e.sent.written:
		case r := <-e.pending: // at the latest when the session ends
			if e.recordResult(r); !e.mayExist {
				return nil
			}
		}
	}
	at, err := e.s.find(ctx, e.parent, e.id)
	if err != nil || at.node == "" {
		return err
	}
	return e.s.remove(ctx, at.node)
}

// find returns the node of this session whose name begins with id, or an empty createdNode if there is none.
func (s *Session) find(ctx context.Context, parent, id string) (createdNode, error) {
	if err := s.barrier(ctx, parent+"/"+id); err != nil {
		return createdNode{}, err
	}
	names, err := s.List(ctx, parent)
	if errors.Is(err, zk.ErrNoNode) {
		return createdNode{}, nil
	}
	if err != nil {
		return createdNode{}, err
	}
	return s.own(ctx, parent, id, names)
}

// own is find among names, the children of parent.
func (s *Session) own(ctx context.Context, parent, prefix string, names []string) (createdNode, error) {
	name, stat, err := client.OwnNode(names, prefix, s.ID(), func(name string) (*zk.Stat, error) {
		return s.Exists(ctx, parent+"/"+name)
	})
	if err != nil || stat == nil {
		return createdNode{}, err
	}
	return createdNode{parent + "/" + name, stat.Czxid}, nil
}

// The mark makes the cost of a hand-off independent of the length of the line.
//
// A notified waiter in a plain predecessor recipe must list the whole line: the node that it watched may have
// belonged to a waiter that left, and others may still be ahead. So a holder marks its release: in one transaction it
// deletes its node and writes the name of the node, the mark, into the data of the parent, which no client watches. A
// waiter that is notified of a deletion reads the mark:
//
//   - The mark is the name of the watched node. Its owner held the grant, so no client was ahead of
//     it; it is our turn, if our node still exists.
//   - The mark is another name, or empty. The node expired, or a waiter left: list.
//
// The read cannot be stale: the member that sent the notification has executed the transaction that
// wrote the mark. A mark is unambiguous: names are random, and never reused.

func (c contest) usesMarks() bool { return c.variant == Predecessor && !c.unmarked && c.wait == nil }

// allDeleted reports whether it is certain that all n nodes ahead were deleted, of which last is the nearest,
// and no other node was deleted. listed is the Stat of the parent at the time of the list.
//
//   - The only node ahead was deleted, or the node last was released by a holder, which had no node
//     ahead: all n were deleted. Numbers only grow, so no node is ahead now.
//   - The parent has lost exactly n children since the list, so our own node exists, although an
//     operator may delete any node. cversion counts creates and deletes of children, so
//     cversion - numChildren rises by 2 with a delete, and does not change with a create.
func (c contest) allDeleted(ctx context.Context, n int, last string, listed *zk.Stat) (bool, error) {
	mark, now, err := c.s.Get(ctx, c.parent)
	if err != nil || n > 1 && string(mark) != last {
		return false, mapNoNode(err)
	}
	deleted := (now.Cversion - now.NumChildren) - (listed.Cversion - listed.NumChildren)
	return now.Czxid == listed.Czxid && deleted == int32(2*n), nil
}

func markRequest(parent, path string) *zk.SetDataRequest {
	return &zk.SetDataRequest{Path: parent, Data: []byte(client.Base(path)), Version: -1}
}

// delete removes the grant's node and writes the mark, and retries until the servers have confirmed it.
// If the ACL forbids writes to the parent, it writes no mark.
func (g *Grant) delete(ctx context.Context) error {
	if g.markAt == "" {
		return g.s.remove(ctx, g.Path)
	}
	err := g.s.retry(ctx, func() error {
		return g.s.multi(ctx, &zk.DeleteRequest{Path: g.Path, Version: -1}, markRequest(g.markAt, g.Path))
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil // the node was missing, not the parent
	case errors.Is(err, zk.ErrNoAuth):
		return g.s.remove(ctx, g.Path)
	}
	return err
}
