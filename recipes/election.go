package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

func init() {
	for v, who := range map[Variant]string{
		Parent:      "every candidate watches the parent: the end of each term notifies all (the herd)",
		Predecessor: "each candidate watches its predecessor: the end of a term notifies one client",
	} {
		Register(Subject{
			Name: "election/" + string(v), Recipe: RecipeElection, Variant: v,
			About:    "built-in; " + who + ". One leader at a time while sessions are alive; terms fenced by czxid, in order of candidacy",
			Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, Formulas: contestFormulas[v], Writes: true, ReportsHeld: true,
			Open: openContender(func(s *Session, env Env) *contender {
				return &contender{acquire: NewElection(s, env.Parent, "", v).Campaign}
			}),
		})
	}
}

const candidatePrefix = "-n_"

// Election is ZooKeeper's leader election recipe. It is the same contest as the lock: the candidate
// with the lowest number leads, and its grant is a term.
type Election struct{ contest contest }

// NewElection returns the election at parent, which is created if it is missing. Observers get name, which may be
// empty, while this candidate leads. In the predecessor variant the end of each term overwrites the parent's data.
func NewElection(s *Session, parent, name string, v Variant) *Election {
	return &Election{contest{s: s, parent: parent, prefix: candidatePrefix, variant: v, data: []byte(name)}}
}

// Campaign enters the election and returns the term once it is won. If it fails, it leaves no node
// in a live session. Resign with the grant's Release.
func (e *Election) Campaign(ctx context.Context) (*Grant, error) { return e.contest.acquire(ctx) }

// Lead campaigns, calls lead for each term that is won, resigns when it returns, and campaigns
// again, until ctx is done or the session has ended (Curator's LeaderSelector with autoRequeue).
// The context of lead is canceled as soon as the term is suspended or lost: lead must then return. If
// lead returns an error, Lead returns it.
func (e *Election) Lead(ctx context.Context, lead func(ctx context.Context, term *Grant) error) error {
	for {
		term, err := e.Campaign(ctx)
		if err != nil {
			return err
		}
		if err := serve(ctx, term, lead); err != nil {
			return err
		}
	}
}

// serve calls lead for one term and resigns afterwards, even if lead panics.
func serve(ctx context.Context, term *Grant, lead func(ctx context.Context, term *Grant) error) (err error) {
	during, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	term.notify(func(state GrantState) { cancel(fmt.Errorf("the term is %v", state)) })
	defer func() {
		resign := term.Release(ctx)
		if err == nil && ctx.Err() == nil && !errors.Is(resign, ErrGrantLost) {
			err = resign
		}
	}()
	return lead(during, term)
}

// Term describes a leadership for observers.
type Term struct {
	Token   int64  // czxid of the leader's node; 0 without a leader
	Session int64  // of the leader
	Path    string // of the leader's node
	Name    string
}

// Leader returns the current term. Its Token is 0 if there is no leader.
func (e *Election) Leader(ctx context.Context) (Term, error) {
	t, _, err := e.term(ctx, false)
	return t, err
}

// Observe calls see with the current term and then with each new term that it notices, in order, until ctx
// is done or the session has ended, and returns the reason. It may miss terms shorter than a round trip.
// It watches only the leader's node, so an observer is notified only of changes of the leader.
func (e *Election) Observe(ctx context.Context, see func(Term)) error {
	last := Term{Token: -1}
	for {
		t, watch, err := e.term(ctx, true)
		if err != nil {
			return err
		}
		if t.Token != last.Token {
			see(t)
			last = t
		}
		if _, err := e.contest.s.wake(ctx, watch); err != nil {
			return err
		}
	}
}

// term returns the current term, optionally with a watch that fires at its end: on the leader's node, or on
// the parent's children if there is no leader.
func (e *Election) term(ctx context.Context, watch bool) (Term, <-chan zk.Event, error) {
	s, c := e.contest.s, e.contest
	for {
		names, err := s.List(ctx, c.parent)
		if errors.Is(err, zk.ErrNoNode) {
			got, err := s.exists(ctx, c.parent, watch)
			return Term{}, got.watch, err
		}
		if err != nil {
			return Term{}, nil, err
		}
		candidates := sortedNodes(names, c.prefix)
		if len(candidates) == 0 {
			got, err := s.list(ctx, c.parent, watch)
			if err != nil || len(sortedNodes(got.names, c.prefix)) == 0 {
				return Term{}, got.watch, err
			}
			continue // a candidate joined in between
		}
		path := c.parent + "/" + candidates[0].name
		got, err := s.get(ctx, path, watch)
		if errors.Is(err, zk.ErrNoNode) {
			continue // it left in between
		}
		if err != nil {
			return Term{}, nil, err
		}
		return Term{Token: got.stat.Czxid, Session: got.stat.EphemeralOwner, Path: path, Name: string(got.data)}, got.watch, nil
	}
}
