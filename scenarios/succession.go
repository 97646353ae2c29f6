package scenarios

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// Ways to leave a succession, as Phase.Leave.
const (
	LeaveResign = "resign" // the leader releases, a waiter gives up; the sessions live on
	LeaveClose  = "close"  // the client closes its session
	LeaveLose   = "lose"   // the session is closed under the client, at once (fault session.close)
	LeaveExpire = "expire" // the client is kept away until its session has run out (fault session.expire)
)

var leaves = []string{LeaveResign, LeaveClose, LeaveLose, LeaveExpire}

// succession runs the phase's rounds of the drill. In each, all candidates join, one
// after the other, and some leave in the phase's order. Every step waits until the
// one before has had its effect. Who had to lead when is not judged here: the history
// has who joined, who was made to leave, and who was granted.
func (t *trial) succession(ctx context.Context) error {
	for t.round = 1; t.round <= t.phase.Rounds; t.round++ {
		d := &drill{trial: t}
		if err := d.run(ctx); err != nil {
			return fmt.Errorf("round %d: %w", t.round, err)
		}
		if err := t.renew(ctx); err != nil {
			return fmt.Errorf("after round %d: %w", t.round, err)
		}
	}
	return nil
}

// drill is one round of a succession.
type drill struct {
	*trial
	line    []*candidate // by client number, which is the order of joining
	running sync.WaitGroup
}

// candidate is one client's candidacy.
type candidate struct {
	c       *client
	stop    context.CancelFunc // gives up waiting
	granted chan granted       // how its waiting ended
	node    string
	session int64
	token   int64
	claim   recipes.Claim
	leads   bool
	left    bool
	ended   bool // its acquire has returned
}

func (d *drill) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer d.running.Wait()
	defer cancel()
	for _, c := range d.clients {
		if err := d.join(ctx, c); err != nil {
			return fmt.Errorf("client %d joins: %w", c.n, err)
		}
	}
	if err := d.leader(ctx); err != nil {
		return err
	}
	for k, n := range d.phase.Order {
		d.tell(fmt.Sprintf("round %d of %d, %d of %d leave", d.round, d.phase.Rounds, k+1, len(d.phase.Order)), "")
		if err := d.leave(ctx, d.line[n]); err != nil {
			return fmt.Errorf("client %d leaves: %w", n, err)
		}
		if err := d.leader(ctx); err != nil {
			return err
		}
	}
	return d.disband(ctx)
}

// join has the client stand in line, and returns once its node is there.
func (d *drill) join(ctx context.Context, c *client) error {
	k := &candidate{c: c, granted: make(chan granted, 1), session: c.wire.Session().ID}
	d.line = append(d.line, k)
	mine, stop := context.WithCancel(ctx)
	k.stop = stop
	d.running.Go(func() {
		claim, err := c.acquire(mine)
		k.granted <- granted{c: c, claim: claim, err: err}
	})
	err := poll(ctx, joinLimit, func(ctx context.Context) (found bool, err error) {
		k.node, k.token, found, err = d.harness.owned(ctx, d.parent, k.session)
		return found, err
	})
	if err != nil {
		return fmt.Errorf("wait for its node at %s: %w", d.parent, err)
	}
	d.record.Record(&history.Joined{At: d.clock.Now(), Phase: d.phase.Name, Round: d.round, Client: c.n, Token: k.token, Session: k.session, Path: k.node})
	return nil
}

// leader waits until the first who still stands in line leads, within limits: that
// it does not is for the verdict to say.
func (d *drill) leader(ctx context.Context) error {
	for _, k := range d.line {
		if k.left {
			continue
		}
		if !k.ended {
			if err := d.ends(ctx, k); err != nil {
				return err
			}
		}
		break
	}
	// Everybody leads for a while: a term of no length is no term.
	select {
	case <-time.After(d.phase.Hold):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// ends waits until the candidate's acquire has returned, within limits. An error is
// only that of ctx.
func (d *drill) ends(ctx context.Context, k *candidate) error {
	select {
	case g := <-k.granted:
		k.ended = true
		k.leads, k.claim = g.err == nil, g.claim
		if k.leads && !k.left {
			k.c.write(ctx, k.claim)
		}
	case <-time.After(d.patience()):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// leave makes the candidate leave, and returns once its node is gone and the client
// knows it.
func (d *drill) leave(ctx context.Context, k *candidate) error {
	d.record.Record(&history.Leaving{At: d.clock.Now(), Phase: d.phase.Name, Round: d.round, Client: k.c.n, Token: k.token, Session: k.session, How: d.phase.Leave})
	k.left = true
	switch d.phase.Leave {
	case LeaveResign:
		d.resign(ctx, k)
	case LeaveClose:
		// Belief ends with the call, not with its return.
		k.c.closed(k.session)
		k.c.close()
	case LeaveLose:
		d.rob(ctx, k, "session.close")
	case LeaveExpire:
		d.rob(ctx, k, "session.expire")
	}
	if k.leads {
		d.pin.letGo(ctx, k.c.n)
	}
	if !k.ended {
		if err := d.ends(ctx, k); err != nil {
			return err
		}
	}
	return d.gone(ctx, k)
}

func (d *drill) resign(ctx context.Context, k *candidate) {
	if k.leads {
		_ = k.c.release(ctx, k.claim) // the sample has the error
		return
	}
	k.stop()
}

// rob takes the candidate's session from it with a fault.
func (d *drill) rob(ctx context.Context, k *candidate, fault string) {
	f, err := chaos.Parse(fault, strconv.Itoa(k.c.n), nil)
	if err != nil { // cannot be: the name is ours
		panic(err)
	}
	taps := make([]*wire.Client, len(d.clients))
	for i, c := range d.clients {
		taps[i] = c.wire
	}
	plan := chaos.Plan{Entries: []chaos.Entry{{Fault: f}}, Seed: d.rng.Uint64(), Now: d.clock.Now, Healed: d.played}
	_ = plan.Play(ctx, chaos.Target{Ensemble: d.lab.Ensemble, Network: d.lab.Network, Clients: taps}) // the window has the error
}

// gone waits until no member has the candidate's node, and a leader that was robbed
// has learned of it. What does not happen in time is for the verdicts to say.
func (d *drill) gone(ctx context.Context, k *candidate) error {
	robbed := k.leads && (d.phase.Leave == LeaveLose || d.phase.Leave == LeaveExpire)
	_ = poll(ctx, d.patience(), func(ctx context.Context) (bool, error) {
		if robbed && k.c.lost.Load() != k.token {
			return false, nil
		}
		return d.harness.nobodySees(ctx, k.node)
	})
	return ctx.Err()
}

// disband ends the drill: the waiters give up, then the leader resigns.
func (d *drill) disband(ctx context.Context) error {
	d.record.Record(&history.Leaving{At: d.clock.Now(), Phase: d.phase.Name, Round: d.round, Client: -1})
	for _, k := range d.line {
		if !k.ended {
			k.stop()
			if err := d.ends(ctx, k); err != nil {
				return err
			}
		}
	}
	for _, k := range d.line {
		if k.leads && !k.left {
			_ = k.c.release(ctx, k.claim) // the sample has the error
		}
	}
	return nil
}

// owned returns the sequential node at path that the session owns, and its czxid.
func (h *harness) owned(ctx context.Context, path string, session int64) (node string, czxid int64, found bool, err error) {
	s, err := h.any(ctx)
	if err != nil {
		return "", 0, false, err
	}
	names, err := s.List(ctx, path)
	if err != nil {
		return "", 0, false, err
	}
	for _, name := range names {
		stat, err := s.Exists(ctx, path+"/"+name)
		if err != nil {
			return "", 0, false, err
		}
		if stat != nil && stat.EphemeralOwner == session && sequential.MatchString(name) {
			return path + "/" + name, stat.Czxid, true, nil
		}
	}
	return "", 0, false, nil
}

// nobodySees tells whether the node is gone from every member.
func (h *harness) nobodySees(ctx context.Context, path string) (bool, error) {
	for i := range h.servers {
		s, err := h.member(ctx, i)
		if err != nil {
			return false, err
		}
		if stat, err := s.Exists(ctx, path); stat != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}
