package stage

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/observer"
)

// Time between the two observations of a snapshot.
const (
	StuckFor = 1200 * time.Millisecond // for a line without progress
	idleFor  = 200 * time.Millisecond  // for an empty line
)

// cleanUpLimit bounds the time that a recipe needs to remove its nodes in the background.
const cleanUpLimit = 2 * time.Second

type clientState struct {
	session    int64
	server     string // "" if not connected
	counts     wire.Counts
	unanswered int64      // requests in flight
	pending    *operation // nil if none is pending
	calls      int64
	backOff    time.Duration // total so far
}

func (st *Stage) States() []clientState {
	out := make([]clientState, len(st.Clients))
	for i, c := range st.Clients {
		s := c.Wire.Session()
		out[i] = clientState{s.ID, s.Server, c.Wire.Counts(), c.Wire.Unanswered(), c.Pending.Load(),
			c.calls.Load(), time.Duration(c.backoffState.total.Load())}
	}
	return out
}

// Snapshot records the nodes below the contested parent that existed in both of two observations. unserved
// means that not every client was granted in time.
func (st *Stage) Snapshot(ctx context.Context, apart time.Duration, unserved bool) error {
	all, err := st.observe(ctx, apart)
	for _, r := range all {
		r.Unserved = unserved
		st.Record.Record(r)
	}
	return err
}

// observe observes the contested parent, of every path, twice and returns the content that did not change: nodes with
// their owners, and waiting clients with their watches.
func (st *Stage) observe(ctx context.Context, apart time.Duration) ([]*history.Snapshot, error) {
	behind := laggingMembers(ctx, st.Observer, st.States())
	asked, before := st.Clock.Now(), st.States()
	first, err := st.Observer.Nodes(ctx, st.Parent)
	if err != nil {
		return nil, err
	}
	if err := Pause(ctx, apart); err != nil {
		return nil, err
	}
	second, err := st.Observer.Nodes(ctx, st.Parent)
	if err != nil {
		return nil, err
	}
	watches, known := st.Members.Watches(ctx)
	after := st.States()
	stayed := slices.DeleteFunc(second, func(n observer.Node) bool { return !slices.Contains(first, n) })
	var items []observer.Node
	if st.IsQueue() {
		items = slices.DeleteFunc(slices.Clone(stayed), func(n observer.Node) bool { return n.Owner != 0 })
		if items, err = st.Observer.ItemsAmong(ctx, items, &st.outstanding); err != nil {
			return nil, err
		}
	}
	var all []*history.Snapshot
	for i := range st.Scenario.PathCount() {
		parent := st.PathParent(i)
		r := &history.Snapshot{Asked: asked, Path: parent, Queue: st.IsQueue()}
		for _, n := range stayed {
			if strings.HasPrefix(n.Path, parent+"/") && (!r.Queue || n.Owner != 0 && path.Dir(n.Path) == parent) {
				r.Nodes = append(r.Nodes, history.SnapshotNode{Path: n.Path, Token: n.Czxid, Session: n.Owner, Client: owner(n.Owner, before, after)})
			}
		}
		for _, n := range items {
			if strings.HasPrefix(n.Path, parent+"/") {
				r.Items = append(r.Items, history.SnapshotItem{Path: n.Path, Token: n.Czxid})
			}
		}
		for k, c := range st.Clients {
			if w, waits := waiter(k, before[k], after[k]); waits && c.path() == i {
				w.Behind = behind[after[k].server]
				if known {
					countWatches(&w, watches[w.Session], stayed, parent, st.IsBarrier())
				}
				r.Waiters = append(r.Waiters, w)
			}
		}
		r.At = st.Clock.Now()
		all = append(all, r)
	}
	return all, nil
}

// laggingMembers returns the members that serve waiting clients and lack commits: such a member may
// still send notifications.
func laggingMembers(ctx context.Context, o *observer.Observer, clients []clientState) map[string]bool {
	out := map[string]bool{}
	for _, s := range clients {
		if _, asked := out[s.server]; asked || s.pending == nil || s.server == "" {
			continue
		}
		out[s.server] = o.AwaitCaughtUp(ctx, s.server) != nil
	}
	return out
}

// SnapshotStuck takes a snapshot of a line without progress, for the verdicts. If the ensemble does
// not reply, nothing is recorded.
func (st *Stage) SnapshotStuck(ctx context.Context) error {
	_ = st.Snapshot(ctx, StuckFor, false)
	return ctx.Err()
}

// SnapshotIdle takes a snapshot of the line when no client is in it. A recipe may still remove
// nodes in the background for a while.
func (st *Stage) SnapshotIdle(ctx context.Context) error {
	st.awaitEmpty(ctx)
	return st.Snapshot(ctx, idleFor, false)
}

func (st *Stage) awaitEmpty(ctx context.Context) {
	_ = Poll(ctx, cleanUpLimit, func(ctx context.Context) (bool, error) {
		found, err := st.Observer.Nodes(ctx, st.Parent)
		now := st.States()
		mine := slices.ContainsFunc(found, func(n observer.Node) bool { return owner(n.Owner, now, now) >= 0 })
		return err == nil && !mine, nil
	})
}

// owner returns the number of the client that was connected with the session at both times; -1 if there is none.
func owner(session int64, before, after []clientState) int {
	for i := range before {
		b, a := before[i], after[i]
		if session != 0 && b.session == session && a.session == session && b.server != "" && a.server != "" {
			return i
		}
	}
	return -1
}

// waiter describes client i if, at both times, it had the same session and was in the same acquire or take.
func waiter(i int, before, after clientState) (history.Waiter, bool) {
	o := after.pending
	if o == nil || o != before.pending || o.op != history.Acquire && o.op != history.Take ||
		before.session != after.session || before.server == "" || after.server == "" {
		return history.Waiter{}, false
	}
	moved := after.counts.Sub(before.counts)
	return history.Waiter{Client: i, Session: after.session,
		Moved:    moved.Requests.Total() + moved.Notifications.Total() + moved.Connections,
		InFlight: after.unanswered,
	}, true
}

// countWatches counts the watches that a change in the line can trigger, and the others. At a barrier
// the node that opens it may be missing.
func countWatches(w *history.Waiter, paths []string, there []observer.Node, parent string, barrier bool) {
	w.Watches = new(int64)
	for _, p := range paths {
		if p == parent || barrier && strings.HasPrefix(p, parent+"/") || slices.ContainsFunc(there, func(n observer.Node) bool { return n.Path == p && n.Owner != w.Session }) {
			*w.Watches++
		} else {
			w.Others++
		}
	}
}

// checkEvery is the interval at which claims are compared with the tree during a churn: short enough to detect
// lasting errors, and long enough to cost little.
const checkEvery = 250 * time.Millisecond

// Check records the state of a claim's node, unless the commits will show it. Only the client itself may call
// Check, before it releases.
func (c *Client) Check(ctx context.Context, claim recipes.Claim) {
	st := c.Stage
	if st.Members.IsManaged() {
		return
	}
	asked := st.Clock.Now()
	found, err := st.Observer.Nodes(ctx, st.PathParent(c.path()))
	if err != nil {
		return
	}
	r := &history.ClaimCheck{Asked: asked, Client: c.Number, Path: claim.Path}
	if i := slices.IndexFunc(found, func(n observer.Node) bool { return n.Path == claim.Path }); i >= 0 {
		r.Token, r.Session = found[i].Czxid, found[i].Owner
	}
	for _, n := range found {
		if n.Owner != 0 && n.Czxid < r.Token {
			r.Ahead++
		}
	}
	r.At = st.Clock.Now()
	st.Record.Record(r)
}

func (c *Client) checkSometimes(ctx context.Context, claim recipes.Claim) {
	now := int64(c.Stage.Clock.Now())
	last := c.Stage.lastClaimCheck.Load()
	if now-last >= int64(checkEvery) && c.Stage.lastClaimCheck.CompareAndSwap(last, now) {
		c.Check(ctx, claim)
	}
}

type lineWatch struct {
	st        *Stage
	last      wire.Counts
	since     time.Time    // last change on the wire
	checkedAt time.Time    // last check of each client for starvation (hasStarvedClient)
	idle      []idlePeriod // of each client
}

// idlePeriod is a period in which a client waits in one acquire and only pings pass on its connections.
type idlePeriod struct {
	pending *operation
	frames  int64 // frames at its start; -1: not checked yet
	since   time.Time
	grants  int64 // grants of all clients at its start
}

const idleThreshold = time.Second

// starvedGrants is the average number of grants per client above which a waiting client starves.
const starvedGrants = 2

// check reads the tap's counts, and takes a snapshot if the line makes no progress or a client starves.
func (w *lineWatch) check(ctx context.Context) {
	switch {
	case w.hasStarvedClient():
		_ = w.st.Snapshot(ctx, StuckFor, false)
		w.checkedAt = time.Now()
	case w.hasTraffic() || !w.onlyWait():
	case time.Since(w.since) < idleThreshold:
		return
	default:
		all, err := w.st.observe(ctx, StuckFor)
		if err == nil && !w.hasTraffic() && w.onlyWait() {
			for _, r := range all {
				w.st.Record.Record(r)
			}
		}
	}
	w.since = time.Now()
}

// hasStarvedClient reports whether a client has been idle for two session timeouts while the others received more than
// starvedGrants grants per client. It checks at intervals of idleThreshold, and returns false in between.
func (w *lineWatch) hasStarvedClient() (found bool) {
	if time.Since(w.checkedAt) < idleThreshold {
		return false
	}
	w.checkedAt = time.Now()
	grants, all := w.st.Grants.Load(), int64(len(w.st.Clients))
	for i, c := range w.st.Clients {
		o, r := c.Pending.Load(), &w.idle[i]
		if o == nil || o.op != history.Acquire || o != r.pending {
			*r = idlePeriod{o, -1, w.checkedAt, grants}
			continue
		}
		passed := grants - r.grants
		if passed <= all {
			continue // few enough grants: no need to check the wire
		}
		n := c.Wire.Counts()
		switch frames := n.Requests.Total() + n.Notifications.Total() + n.Connections; {
		case frames != r.frames:
			*r = idlePeriod{o, frames, w.checkedAt, grants}
		case w.checkedAt.Sub(r.since) > 2*w.st.Scenario.SessionTimeout && passed > starvedGrants*all:
			found = true
		}
	}
	return found
}

// hasTraffic reports whether messages other than pings have passed since the last call.
func (w *lineWatch) hasTraffic() bool {
	now := w.st.Tap.Totals()
	passed := now.Sub(w.last)
	w.last = now
	return passed.Connections+passed.Notifications.Total()+passed.Requests.Total() > 0
}

func hasPendingRequest(clients []*Client) bool {
	return slices.ContainsFunc(clients, func(c *Client) bool { return c.Wire.Unanswered() > 0 })
}

func (w *lineWatch) onlyWait() bool {
	st, waits := w.st, false
	clients := slices.Concat(st.Clients, st.Producers)
	for _, c := range clients {
		switch o := c.Pending.Load(); {
		case o == nil:
		case o.op == history.Acquire || o.op == history.Take:
			waits = true
		default:
			return false
		}
	}
	n := st.Holder.current(false)
	return waits && !hasPendingRequest(clients) && (n < 0 || st.Clients[n].inDoubt(st.Clients[n].token.Load()))
}

// ParseWatches parses a reply to wchp: a path per line, followed by indented lines with the sessions that
// watch it. It adds the paths to bySession and returns the number of watches.
func ParseWatches(reply string, bySession map[int64][]string) (n int) {
	path := ""
	for line := range strings.Lines(reply) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "/") {
			path = line
			continue
		}
		id, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(line), "0x"), 16, 64)
		if err == nil && path != "" {
			bySession[int64(id)] = append(bySession[int64(id)], path)
			n++
		}
	}
	return n
}

// Watches returns the watched paths of each session, as the members report them (wchp). ok is false if a member does
// not report all watches: wchp omits watches on children, which the member's count of watches (mntr) includes.
func (m Members) Watches(ctx context.Context) (bySession map[int64][]string, ok bool) {
	if !m.IsManaged() { // wchp is slow on members with many watches
		return nil, false
	}
	bySession = map[int64][]string{}
	for _, member := range m.Ensemble.Members {
		reply, err := ensembles.FourLetter(ctx, member, "wchp")
		if err != nil {
			return nil, false
		}
		named := ParseWatches(reply, bySession)
		mntr, err := ensembles.QueryCounters(ctx, member)
		if there, known := mntr["watch_count"]; err != nil || !known || int(there) != named {
			return nil, false
		}
	}
	return bySession, true
}
