package phases

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

const (
	leaveResign = "resign" // the leader releases or a waiter gives up; sessions stay open
	leaveClose  = "close"  // the client closes its session
	leaveLose   = "lose"   // another client closes the session at once (fault session.close)
	leaveExpire = "expire" // the client is disconnected until its session expires (fault session.expire)
)

var leaves = []string{leaveResign, leaveClose, leaveLose, leaveExpire}

func init() {
	stage.AddKind(spec.Kind{
		Name:     history.SuccessionPhase,
		About:    "candidates join one after the other and leave in a given order",
		Pace:     history.ByHarness,
		NoQueues: true,
		Single:   true,
		Fields:   []string{"rounds", "leave", "order"},
		Enums:    map[string][]string{"leave": leaves},
		Validate: validateSuccession,
		MinClients: func(p *spec.Phase) (int, string) {
			return slices.Max(append(p.Order, -1)) + 1, "clients are numbered from 0, and order lists the last"
		},
	}, succession)
}

func validateSuccession(p *spec.Phase, bad spec.ProblemFunc) {
	p.CheckRounds(bad)
	if !slices.Contains(leaves, p.Leave) {
		bad("leave", "%q is not a way to leave%s", p.Leave, units.Nearest(p.Leave, leaves))
	}
	if len(p.Order) == 0 {
		bad("order", "is required: the clients in the order in which they leave, for example [0, 1, 3, 4, 2]")
	}
	for i, n := range p.Order {
		if n < 0 || n >= spec.MaxClients || slices.Contains(p.Order[:i], n) {
			bad(fmt.Sprintf("order.%d", i), "%d is not a valid client number, or occurs twice", n)
		}
	}
}

// succession runs the phase's rounds. In each, all candidates join one after the other, and some
// leave in the phase's order. Every step waits for the effect of the previous step. The history
// records the clients that joined, left and were granted; the verdict decides which should have led.
func succession(ctx context.Context, st *stage.Stage) error {
	for st.Round = 1; st.Round <= st.Phase.Rounds; st.Round++ {
		s := &successions{st: st}
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("round %d: %w", st.Round, err)
		}
		if err := st.Renew(ctx); err != nil {
			return fmt.Errorf("after round %d: %w", st.Round, err)
		}
	}
	return nil
}

type successions struct {
	st   *stage.Stage
	line []*candidate // by client number, which is the order of joining
}

type candidate struct {
	*stage.Attempt
	node    observer.Node
	session int64
	wrote   bool // has written as the leader
}

func (k *candidate) leads() bool { return k.HasReturned() && k.Err == nil }

func (s *successions) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		s.st.RecordPending()
		cancel()
		for _, k := range s.line {
			<-k.Done
		}
	}()
	for _, c := range s.st.Clients {
		if err := s.join(ctx, c); err != nil {
			return fmt.Errorf("client %d failed to join: %w", c.Number, err)
		}
	}
	if err := s.awaitTerm(ctx); err != nil {
		return err
	}
	p := s.st.Phase
	for k, n := range p.Order {
		s.st.Report("round %d of %d, candidate %d of %d leaves", s.st.Round, p.Rounds, k+1, len(p.Order))
		if err := s.leave(ctx, s.line[n]); err != nil {
			return fmt.Errorf("client %d failed to leave: %w", n, err)
		}
		if err := s.awaitTerm(ctx); err != nil {
			return err
		}
	}
	return s.endRound(ctx)
}

func (s *successions) join(ctx context.Context, c *stage.Client) error {
	st := s.st
	k := &candidate{session: c.Wire.Session().ID}
	k.Attempt = c.StartAttempt(ctx)
	s.line = append(s.line, k)
	err := stage.Poll(ctx, stage.JoinLimit, func(ctx context.Context) (found bool, err error) {
		granted := k.leads()
		k.node, found, err = st.Observer.Owned(ctx, st.Parent, k.session)
		if err == nil && !found && granted && k.Claim.Path != "" && !observer.Sequential.MatchString(k.Claim.Path) {
			err = fmt.Errorf("a succession requires sequential nodes, but the node of the grant, %s, has no sequence number", k.Claim.Path)
		}
		return found, err
	})
	if err != nil {
		return fmt.Errorf("waiting for its node at %s: %w", st.Parent, err)
	}
	st.Record.Record(&history.Joined{At: st.Clock.Now(), Phase: st.Phase.Name, Round: st.Round,
		Client: c.Number, Token: k.node.Czxid, Session: k.session, Path: k.node.Path})
	return nil
}

// awaitTerm waits, within limits, until the first remaining candidate leads, and then for the hold time. The
// verdict reports a candidate that does not lead.
func (s *successions) awaitTerm(ctx context.Context) error {
	i := slices.IndexFunc(s.line, func(k *candidate) bool { return !k.Finished })
	if i >= 0 {
		if err := s.await(ctx, s.line[i]); err != nil {
			return err
		}
	}
	return stage.Pause(ctx, s.st.Phase.Hold)
}

// await waits, within limits, until the candidate's acquire has returned. If the candidate then leads and the phase has not made it leave, it writes once to the resource. await returns ctx.Err().
func (s *successions) await(ctx context.Context, k *candidate) error {
	if k.AwaitReturn(ctx, s.st.GrantTimeout()) && k.Err == nil && !k.Finished && !k.wrote {
		k.wrote = true
		k.Write(ctx)
	}
	return ctx.Err()
}

// leave makes the candidate leave, and waits, within limits, until its node is removed and it is notified.
func (s *successions) leave(ctx context.Context, k *candidate) error {
	st, leads := s.st, k.leads()
	st.Record.Record(&history.Leaving{At: st.Clock.Now(), Phase: st.Phase.Name, Round: st.Round,
		Client: k.Client.Number, Token: k.node.Czxid, Session: k.session, How: st.Phase.Leave})
	k.Finished = true
	mustLearn := leads && (st.Phase.Leave == leaveLose || st.Phase.Leave == leaveExpire)
	switch st.Phase.Leave { // errors are recorded
	case leaveResign:
		if k.leads() {
			_ = k.Release(ctx)
		} else {
			k.Cancel()
		}
	case leaveClose:
		_ = k.Client.Leave()
	case leaveLose:
		_ = st.Inject(ctx, "session.close", k.Client.Number)
	case leaveExpire:
		_ = st.Inject(ctx, "session.expire", k.Client.Number)
	}
	if leads {
		st.Holder.AwaitUnpinned(ctx, k.Client.Number)
	}
	if err := s.await(ctx, k); err != nil {
		return err
	}
	_ = stage.Poll(ctx, st.GrantTimeout(), func(ctx context.Context) (bool, error) {
		if mustLearn && !k.Client.HasLost(k.node.Czxid) {
			return false, nil
		}
		gone, _ := st.Observer.IsRemoved(ctx, k.node.Path) // a member that does not reply is queried again
		return gone, nil
	})
	return ctx.Err()
}

// endRound ends the round: first the waiters give up, then the leader releases.
func (s *successions) endRound(ctx context.Context) error {
	st := s.st
	st.Record.Record(&history.Leaving{At: st.Clock.Now(), Phase: st.Phase.Name, Round: st.Round, Client: -1})
	for _, k := range s.line {
		if !k.HasReturned() {
			k.Cancel()
			if err := s.await(ctx, k); err != nil {
				return err
			}
		}
	}
	for _, k := range s.line {
		if k.leads() && !k.Finished {
			_ = k.Release(ctx) // the error is recorded
		}
	}
	return nil
}
