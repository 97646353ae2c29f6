package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// Evidence: what the verdicts need to know and no operation tells.

// heard records what the wire shows of sessions: a new one, whoever opened it, and
// the servers' word that one is gone.
func (t *trial) heard(e wire.Event) {
	switch {
	case e.Kind == wire.Connected && !e.Resumed:
		t.record.Record(&history.Session{At: e.At, Event: history.Opened, Client: e.Client, Session: e.Session, Timeout: e.Timeout})
	case e.Kind == wire.Expired:
		t.record.Record(&history.Session{At: e.At, Event: history.Expired, Client: e.Client, Session: e.Session})
	}
}

// checkEvery is how often a claim is held against the tree while clients churn: often
// enough to catch what is wrong for long, and too seldom to be felt.
const checkEvery = 250 * time.Millisecond

// check looks at the node behind a claim. Only the client itself may call it, before
// it lets go: the claim stands while the look lasts.
func (c *client) check(ctx context.Context, claim recipes.Claim) {
	asked := c.t.clock.Now()
	found, err := c.t.harness.survey(ctx, c.t.parent)
	if err != nil {
		return // what was not seen proves nothing
	}
	n := &history.ClaimCheck{Asked: asked, Client: c.n, Path: claim.Path}
	for _, s := range found {
		if s.path == claim.Path {
			n.Token, n.Session = s.czxid, s.owner
		}
		if s.owner != 0 && s.czxid < claim.Token {
			n.Ahead++
		}
	}
	n.At = c.t.clock.Now()
	c.t.record.Record(n)
}

// checkSometimes is check, at most once in a while for all clients together.
func (c *client) checkSometimes(ctx context.Context, claim recipes.Claim) {
	now := int64(c.t.clock.Now())
	last := c.t.checked.Load()
	if now-last >= int64(checkEvery) && c.t.checked.CompareAndSwap(last, now) {
		c.check(ctx, claim)
	}
}

// posture is what a client is about at one instant.
type posture struct {
	session int64
	server  string
	counts  wire.Counts
	since   int64 // busy since, as client.busy
}

func (t *trial) postures() []posture {
	out := make([]posture, len(t.clients))
	for i, c := range t.clients {
		s := c.wire.Session()
		out[i] = posture{s.ID, s.Server, c.wire.Counts(), c.busy.Load()}
	}
	return out
}

// look looks at the contested parent twice, so far apart, and records what was there
// all the time: nodes, whose they are, and clients that wait, and for what. It
// returns how many nodes of connected clients there were.
func (t *trial) look(ctx context.Context, apart time.Duration) (left int, err error) {
	asked, before := t.clock.Now(), t.postures()
	first, err := t.harness.survey(ctx, t.parent)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(apart):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	second, err := t.harness.survey(ctx, t.parent)
	if err != nil {
		return 0, err
	}
	watches, told := t.watches(ctx)
	after := t.postures()
	r := &history.Snapshot{Asked: asked, Path: t.parent, Queue: t.queue()}
	stayed := slices.DeleteFunc(second, func(s sighting) bool { return !slices.Contains(first, s) })
	for _, s := range stayed {
		if r.Queue && s.owner == 0 {
			if sequentialName.MatchString(s.path) {
				r.Items = append(r.Items, history.SnapshotItem{Path: s.path, Token: s.czxid})
			}
			continue // else it is where consumers stand in line
		}
		owner := owner(s.owner, before, after)
		if owner >= 0 {
			left++
		}
		r.Nodes = append(r.Nodes, history.SnapshotNode{Path: s.path, Token: s.czxid, Session: s.owner, Client: owner})
	}
	for i := range t.clients {
		if w, waits := t.waiter(i, before[i], after[i]); waits {
			if told {
				t.countWatches(&w, watches[w.Session], stayed)
			}
			r.Waiters = append(r.Waiters, w)
		}
	}
	r.At = t.clock.Now()
	t.record.Record(r)
	return left, nil
}

// owner returns the client that was connected with the session both times; -1 if none.
func owner(session int64, before, after []posture) int {
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
func (t *trial) waiter(i int, before, after posture) (history.Waiter, bool) {
	if before.since == 0 || before.since != after.since || before.session != after.session || before.server == "" || after.server == "" {
		return history.Waiter{}, false
	}
	moved := after.counts.Sub(before.counts)
	return history.Waiter{Client: i, Session: after.session,
		Moved:    moved.Requests.Total() + moved.Notifications.Total() + moved.Connections,
		InFlight: after.counts.InFlight,
	}, true
}

// countWatches tells the watches that a change in the line can fire from others.
func (t *trial) countWatches(w *history.Waiter, paths []string, there []sighting) {
	w.Watches = new(int64)
	for _, p := range paths {
		if p == t.parent || slices.ContainsFunc(there, func(s sighting) bool { return s.path == p && s.owner != w.Session }) {
			*w.Watches++
		} else {
			w.Others++
		}
	}
}

// efforts records what every client has asked since before, by its own count.
func (t *trial) efforts(before []effort) {
	for i, c := range t.clients {
		e := c.effort()
		calls := e.calls - before[i].calls
		if calls == 0 {
			continue
		}
		w := e.wire.Sub(before[i].wire)
		var refused int64
		for _, n := range w.Errors {
			refused += n
		}
		t.record.Record(&history.Effort{At: t.clock.Now(), Phase: t.phase.Name, Client: i, Queue: t.queue(), Calls: calls,
			Requests: w.Requests.Total(), Notifications: w.Notifications.Total(), Connections: w.Connections, Refusals: refused})
	}
}

// effort is what a client has done so far.
type effort struct {
	calls int64
	wire  wire.Counts
}

func (c *client) effort() effort { return effort{c.calls.Load(), c.wire.Counts()} }

func (t *trial) effortsNow() []effort {
	out := make([]effort, len(t.clients))
	for i, c := range t.clients {
		out[i] = c.effort()
	}
	return out
}

// idleLook is how far apart the two looks are at the line of idle clients.
const idleLook = 200 * time.Millisecond

// lookIdle looks at the line when no client stands in it any more. What a recipe
// still clears away in the background has a while to go.
func (t *trial) lookIdle(ctx context.Context) error {
	deadline := time.Now().Add(idleLimit)
	err := poll(ctx, 2*idleLimit, func(ctx context.Context) (bool, error) {
		found, err := t.harness.survey(ctx, t.parent)
		if err != nil {
			return false, err
		}
		now := t.postures()
		mine := slices.ContainsFunc(found, func(s sighting) bool { return owner(s.owner, now, now) >= 0 })
		return !mine || time.Now().After(deadline), nil
	})
	if err != nil {
		return err
	}
	_, err = t.look(ctx, idleLook)
	return err
}

// idleLimit is how long a recipe may take to clear away what it has left behind.
const idleLimit = 2 * time.Second

// begin notes that an operation is called.
func (c *client) begin(due time.Duration) {
	c.calls.Add(1)
	c.busy.Store(int64(due) + 1)
}

// dialer is the client's tap, and what the trial puts before it.
func (c *client) dialer() zk.Dialer {
	if c.t.dial != nil {
		return c.t.dial(c.wire.Dial)
	}
	return c.wire.Dial
}
