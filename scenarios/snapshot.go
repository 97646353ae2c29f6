package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// How far apart the two observations of a snapshot are.
const (
	stuckFor = 1200 * time.Millisecond // of a line in which nobody gets on
	idleFor  = 200 * time.Millisecond  // of a line in which nobody stands
)

// clearLimit is how long a recipe may take to clear away what it has left behind.
const clearLimit = 2 * time.Second

// clientState is what a client is about at one instant.
type clientState struct {
	session    int64
	server     string // "" where it is not connected
	counts     wire.Counts
	unanswered int64      // requests under way
	under      *operation // nil where none is under way
}

func (st *stage) states() []clientState {
	out := make([]clientState, len(st.clients))
	for i, c := range st.clients {
		s := c.wire.Session()
		out[i] = clientState{s.ID, s.Server, c.wire.Counts(), c.wire.Unanswered(), c.under.Load()}
	}
	return out
}

// snapshot records what was at the contested parent for a while.
func (st *stage) snapshot(ctx context.Context, apart time.Duration) error {
	r, err := st.observe(ctx, apart)
	if err == nil {
		st.record.Record(r)
	}
	return err
}

// observe observes the contested parent twice, so far apart, and returns what was there
// all the time: nodes, whose they are, and clients that wait, and for what.
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

// behind returns the members that serve clients which wait, and have not all that is
// committed: one that was cut off a moment ago may have notifications yet to send.
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

// snapshotStuck takes a snapshot of a line in which nothing moves, for the verdicts. What
// cannot be seen, because the ensemble does not answer, proves nothing.
func (st *stage) snapshotStuck(ctx context.Context) error {
	_ = st.snapshot(ctx, stuckFor)
	return ctx.Err()
}

// snapshotIdle takes a snapshot of the line when no client stands in it any more. What a
// recipe still clears away in the background has a while to go.
func (st *stage) snapshotIdle(ctx context.Context) error {
	st.awaitEmpty(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	return st.snapshot(ctx, idleFor)
}

// awaitEmpty waits until no client that is connected has a node in line, for a while.
func (st *stage) awaitEmpty(ctx context.Context) {
	_ = poll(ctx, clearLimit, func(ctx context.Context) (bool, error) {
		found, err := st.observer.nodes(ctx, st.parent)
		now := st.states()
		mine := slices.ContainsFunc(found, func(n node) bool { return owner(n.owner, now, now) >= 0 })
		return err == nil && !mine, nil
	})
}

// owner returns the client that was connected with the session both times; -1 if none.
func owner(session int64, before, after []clientState) int {
	for i := range before {
		b, a := before[i], after[i]
		if session != 0 && b.session == session && a.session == session && b.server != "" && a.server != "" {
			return i
		}
	}
	return -1
}

// waiter describes a client that was in the same acquire or take, with the same session
// and connected, at both times.
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

// countWatches counts the watches that a change in the line can fire, and the others.
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

// checkEvery is how often a claim is held against the tree while clients churn: often
// enough to catch what is wrong for long, and too seldom to be felt.
const checkEvery = 250 * time.Millisecond

// check compares a claim with its node, where there are no commits that do. Only the client
// itself may call it, before it lets go: the claim stands meanwhile.
func (c *client) check(ctx context.Context, claim recipes.Claim) {
	st := c.st
	if st.members.ours() {
		return
	}
	asked := st.clock.Now()
	found, err := st.observer.nodes(ctx, st.parent)
	if err != nil {
		return // what was not seen proves nothing
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

// checkSometimes is check, at most once in a while for all clients together.
func (c *client) checkSometimes(ctx context.Context, claim recipes.Claim) {
	now := int64(c.st.clock.Now())
	last := c.st.checked.Load()
	if now-last >= int64(checkEvery) && c.st.checked.CompareAndSwap(last, now) {
		c.check(ctx, claim)
	}
}
