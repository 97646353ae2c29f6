package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// Time between the two observations of a snapshot.
const (
	stuckFor = 1200 * time.Millisecond // of a line without progress
	idleFor  = 200 * time.Millisecond  // of an empty line
)

// clearLimit bounds the time that a recipe needs to remove its nodes in the background.
const clearLimit = 2 * time.Second

// clientState is the state of a client at one instant.
type clientState struct {
	session    int64
	server     string // "" if not connected
	counts     wire.Counts
	unanswered int64      // requests in flight
	under      *operation // nil if none is pending
}

func (st *stage) states() []clientState {
	out := make([]clientState, len(st.clients))
	for i, c := range st.clients {
		s := c.wire.Session()
		out[i] = clientState{s.ID, s.Server, c.wire.Counts(), c.wire.Unanswered(), c.under.Load()}
	}
	return out
}

// snapshot records the nodes at the contested parent that existed at both of two times.
func (st *stage) snapshot(ctx context.Context, apart time.Duration) error {
	r, err := st.observe(ctx, apart)
	if err == nil {
		st.record.Record(r)
	}
	return err
}

// observe observes the contested parent twice and returns the content that was the same both times: nodes with
// their owners, and waiting clients with their watches.
func (st *stage) observe(ctx context.Context, apart time.Duration) (*history.Snapshot, error) {
	nodes := st.observer.nodes
	if st.queue() {
		nodes = st.observer.inQueue
	}
	behind := st.behind(ctx)
	asked, before := st.clock.Now(), st.states()
	first, err := nodes(ctx, st.parent)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, apart); err != nil {
		return nil, err
	}
	second, err := nodes(ctx, st.parent)
	if err != nil {
		return nil, err
	}
	watches, known := st.members.watches(ctx)
	after := st.states()
	r := &history.Snapshot{Asked: asked, Path: st.parent, Queue: st.queue()}
	stayed := slices.DeleteFunc(second, func(n node) bool { return !slices.Contains(first, n) })
	var items []node
	if r.Queue {
		items = slices.DeleteFunc(slices.Clone(stayed), func(n node) bool { return n.owner != 0 || !sequential.MatchString(n.path) })
		if items, err = st.observer.itemsAmong(ctx, items, &st.outstanding); err != nil {
			return nil, err
		}
	}
	for _, n := range stayed {
		if !r.Queue || n.owner != 0 {
			r.Nodes = append(r.Nodes, history.SnapshotNode{Path: n.path, Token: n.czxid, Session: n.owner, Client: owner(n.owner, before, after)})
		}
	}
	for _, n := range items {
		r.Items = append(r.Items, history.SnapshotItem{Path: n.path, Token: n.czxid})
	}
	for i := range st.clients {
		if w, waits := waiter(i, before[i], after[i]); waits {
			w.Behind = behind[after[i].server]
			if known {
				st.countWatches(&w, watches[w.Session], stayed)
			}
			r.Waiters = append(r.Waiters, w)
		}
	}
	r.At = st.clock.Now()
	return r, nil
}

// behind returns the members that serve waiting clients and have not all commits: such a member may
// still send notifications.
func (st *stage) behind(ctx context.Context) map[string]bool {
	out := map[string]bool{}
	for _, s := range st.states() {
		if _, asked := out[s.server]; asked || s.under == nil || s.server == "" {
			continue
		}
		out[s.server] = st.observer.caughtUp(ctx, s.server) != nil
	}
	return out
}

// snapshotStuck takes a snapshot of a line without progress, for the verdicts. If the ensemble does
// not reply, nothing is recorded.
func (st *stage) snapshotStuck(ctx context.Context) error {
	_ = st.snapshot(ctx, stuckFor)
	return ctx.Err()
}

// snapshotIdle takes a snapshot of the line when no client is in it. A recipe may still remove
// nodes in the background for a while.
func (st *stage) snapshotIdle(ctx context.Context) error {
	st.awaitEmpty(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	return st.snapshot(ctx, idleFor)
}

// awaitEmpty waits, for a limited time, until no connected client has a node in line.
func (st *stage) awaitEmpty(ctx context.Context) {
	_ = poll(ctx, clearLimit, func(ctx context.Context) (bool, error) {
		found, err := st.observer.nodes(ctx, st.parent)
		now := st.states()
		mine := slices.ContainsFunc(found, func(n node) bool { return owner(n.owner, now, now) >= 0 })
		return err == nil && !mine, nil
	})
}

// owner returns the client that had the session at both times; -1 if no client had.
func owner(session int64, before, after []clientState) int {
	for i := range before {
		b, a := before[i], after[i]
		if session != 0 && b.session == session && a.session == session && b.server != "" && a.server != "" {
			return i
		}
	}
	return -1
}

// waiter describes a client that was in the same acquire or take, with the same session and
// connected, at both times.
func waiter(i int, before, after clientState) (history.Waiter, bool) {
	o := after.under
	if o == nil || o != before.under || o.op != history.Acquire && o.op != history.Take {
		return history.Waiter{}, false
	}
	if before.session != after.session || before.server == "" || after.server == "" {
		return history.Waiter{}, false
	}
	moved := after.counts.Sub(before.counts)
	return history.Waiter{Client: i, Session: after.session,
		Moved:    moved.Requests.Total() + moved.Notifications.Total() + moved.Connections,
		InFlight: after.unanswered,
	}, true
}

// countWatches counts the watches that a change in the line can trigger, and the others.
func (st *stage) countWatches(w *history.Waiter, paths []string, there []node) {
	w.Watches = new(int64)
	for _, p := range paths {
		if p == st.parent || slices.ContainsFunc(there, func(n node) bool { return n.path == p && n.owner != w.Session }) {
			*w.Watches++
		} else {
			w.Others++
		}
	}
}

// checkEvery is the interval of checks of a claim against the tree during a churn: short enough to
// detect lasting errors, and long enough to cost little.
const checkEvery = 250 * time.Millisecond

// check compares a claim with its node if there are no commits to do so. Only the client itself may
// call it, before it releases.
func (c *client) check(ctx context.Context, claim recipes.Claim) {
	st := c.st
	if st.members.ours() {
		return
	}
	asked := st.clock.Now()
	found, err := st.observer.nodes(ctx, st.parent)
	if err != nil {
		return
	}
	r := &history.ClaimCheck{Asked: asked, Client: c.n, Path: claim.Path}
	if i := slices.IndexFunc(found, func(n node) bool { return n.path == claim.Path }); i >= 0 {
		r.Token, r.Session = found[i].czxid, found[i].owner
	}
	for _, n := range found {
		if n.owner != 0 && n.czxid < r.Token {
			r.Ahead++
		}
	}
	r.At = st.clock.Now()
	st.record.Record(r)
}

// checkSometimes calls check at intervals, for all clients together.
func (c *client) checkSometimes(ctx context.Context, claim recipes.Claim) {
	now := int64(c.st.clock.Now())
	last := c.st.checked.Load()
	if now-last >= int64(checkEvery) && c.st.checked.CompareAndSwap(last, now) {
		c.check(ctx, claim)
	}
}
