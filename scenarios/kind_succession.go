package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Ways to leave a succession.
const (
	leaveResign = "resign" // the leader releases, a waiter gives up; the sessions live on
	leaveClose  = "close"  // the client closes its session
	leaveLose   = "lose"   // the session is closed under the client, at once (fault session.close)
	leaveExpire = "expire" // the client is kept away until its session has run out (fault session.expire)
)

var leaves = []string{leaveResign, leaveClose, leaveLose, leaveExpire}

func init() {
	addKind(kind{
		name:     history.SuccessionPhase,
		about:    "candidates join one after the other and leave in a given order",
		pace:     history.ByHarness,
		needs:    needsGrants,
		fields:   []string{"rounds", "leave", "order", "warn"},
		words:    map[string][]string{"leave": leaves},
		validate: validateSuccession,
		tooFew: func(p *Phase, clients int) string {
			if last := slices.Max(append(p.Order, -1)); clients <= last {
				return fmt.Sprintf("%d candidates have no number %d, which is to leave in order", clients, last)
			}
			if p.Warn > clients {
				return fmt.Sprintf("%d candidates are fewer than warn (%d) from the first", clients, p.Warn)
			}
			return ""
		},
		effort: func(p *Phase, _ int) time.Duration { return drainEffort(p, len(p.Order)) },
		run:    succession,
	})
}

func validateSuccession(p *Phase, bad problemFunc) {
	p.rounds(bad)
	if !slices.Contains(leaves, p.Leave) {
		bad("leave", "%q is no way to leave%s", p.Leave, units.Nearest(p.Leave, leaves))
	}
	if len(p.Order) == 0 {
		bad("order", "is missing: the clients that leave, like [0, 1, 3, 4, 2]")
	}
	between(bad, "warn", p.Warn, 0, maxClients)
	for i, n := range p.Order {
		if n < 0 || n >= maxClients || slices.Contains(p.Order[:i], n) {
			bad(fmt.Sprintf("order.%d", i), "%d is not a client's number, or stands there twice", n)
		}
	}
}

// succession runs the phase's rounds. In each, all candidates join, one after the other,
// and some leave in the phase's order. Every step waits until the one before has had its
// effect. Who had to lead when is not judged here: the history has who joined, who was
// made to leave, and who was granted.
func succession(ctx context.Context, st *stage) error {
	for st.round = 1; st.round <= st.phase.Rounds; st.round++ {
		s := &successions{st: st}
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("round %d: %w", st.round, err)
		}
		if err := st.renew(ctx); err != nil {
			return fmt.Errorf("after round %d: %w", st.round, err)
		}
	}
	return nil
}

// successions is one round.
type successions struct {
	st   *stage
	line []*candidate // by client number, which is the order of joining
}

// candidate is one client's candidacy. It is over once the client has left.
type candidate struct {
	*attempt
	node    node
	session int64
	wrote   bool // as the leader
}

// leads says whether the candidate was granted.
func (k *candidate) leads() bool { return k.ended() && k.err == nil }

func (s *successions) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		s.st.waiting()
		cancel()
		for _, k := range s.line {
			<-k.done
		}
	}()
	for _, c := range s.st.clients {
		if err := s.join(ctx, c); err != nil {
			return fmt.Errorf("client %d joins: %w", c.n, err)
		}
	}
	warning, err := s.st.warnBelow(ctx)
	if err != nil {
		return err
	}
	defer warning.close()
	if err := s.term(ctx); err != nil {
		return err
	}
	p := s.st.phase
	for k, n := range p.Order {
		s.st.report("round %d of %d, %d of %d leave", s.st.round, p.Rounds, k+1, len(p.Order))
		if err := s.leave(ctx, s.line[n]); err != nil {
			return fmt.Errorf("client %d leaves: %w", n, err)
		}
		if err := warning.await(ctx, len(s.line)-k-1); err != nil {
			return err
		}
		if err := s.term(ctx); err != nil {
			return err
		}
	}
	warning.close() // everybody leaves now
	return s.disband(ctx)
}

// join has the client stand in line, and returns once its node is there.
func (s *successions) join(ctx context.Context, c *client) error {
	st := s.st
	k := &candidate{session: c.wire.Session().ID}
	k.attempt = c.begin(ctx)
	s.line = append(s.line, k)
	err := poll(ctx, joinLimit, func(ctx context.Context) (found bool, err error) {
		granted := k.leads()
		k.node, found, err = st.observer.owned(ctx, st.parent, k.session)
		if err == nil && !found && granted && k.claim.Path != "" && !sequential.MatchString(k.claim.Path) {
			err = fmt.Errorf("who follows whom is told by the numbers of the nodes in line, and it was granted by %s, which has none", k.claim.Path)
		}
		return found, err
	})
	if err != nil {
		return fmt.Errorf("wait for its node at %s: %w", st.parent, err)
	}
	st.record.Record(&history.Joined{At: st.clock.Now(), Phase: st.phase.Name, Round: st.round,
		Client: c.n, Token: k.node.czxid, Session: k.session, Path: k.node.path})
	return nil
}

// term waits until the first who still stands in line leads, within limits: that it does
// not is for the verdict to say. Everybody leads for a while: a term of no length is no
// term.
func (s *successions) term(ctx context.Context) error {
	i := slices.IndexFunc(s.line, func(k *candidate) bool { return !k.over })
	if i >= 0 {
		if err := s.await(ctx, s.line[i]); err != nil {
			return err
		}
	}
	return pause(ctx, s.st.phase.Hold)
}

// await waits until the candidate's acquire has returned, within limits. Whoever leads
// writes, unless it was made to leave. An error is only that of ctx.
func (s *successions) await(ctx context.Context, k *candidate) error {
	if k.returned(ctx, s.st.patience()) && k.err == nil && !k.over && !k.wrote {
		k.wrote = true
		k.write(ctx)
	}
	return ctx.Err()
}

// leave makes the candidate leave, and returns once its node is gone and the client
// knows it. Of what does not happen in time the verdicts speak.
func (s *successions) leave(ctx context.Context, k *candidate) error {
	st, leads := s.st, k.leads()
	st.record.Record(&history.Leaving{At: st.clock.Now(), Phase: st.phase.Name, Round: st.round,
		Client: k.c.n, Token: k.node.czxid, Session: k.session, How: st.phase.Leave})
	k.over = true
	lost := func() bool { return !leads || k.c.lost(k.node.czxid) }
	switch st.phase.Leave {
	case leaveResign:
		s.resign(ctx, k)
		lost = func() bool { return true }
	case leaveClose:
		_ = k.c.leave()
		lost = func() bool { return true }
	case leaveLose:
		_ = st.inject(ctx, "session.close", strconv.Itoa(k.c.n), nil) // the window has the error
	case leaveExpire:
		_ = st.inject(ctx, "session.expire", strconv.Itoa(k.c.n), nil)
	}
	if leads {
		st.holder.letGo(ctx, k.c.n)
	}
	if err := s.await(ctx, k); err != nil {
		return err
	}
	_ = poll(ctx, st.patience(), func(ctx context.Context) (bool, error) {
		if !lost() {
			return false, nil
		}
		gone, _ := st.observer.gone(ctx, k.node.path) // a member that does not answer is asked again
		return gone, nil
	})
	return ctx.Err()
}

// resign has a leader let go, and a waiter give up.
func (s *successions) resign(ctx context.Context, k *candidate) {
	if k.leads() {
		_ = k.release(ctx) // the sample has the error
		return
	}
	k.giveUp()
}

// disband ends the round: the waiters give up, then the leader resigns.
func (s *successions) disband(ctx context.Context) error {
	st := s.st
	st.record.Record(&history.Leaving{At: st.clock.Now(), Phase: st.phase.Name, Round: st.round, Client: -1})
	for _, k := range s.line {
		if !k.ended() {
			k.giveUp()
			if err := s.await(ctx, k); err != nil {
				return err
			}
		}
	}
	for _, k := range s.line {
		if k.leads() && !k.over {
			_ = k.release(ctx) // the sample has the error
		}
	}
	return nil
}
