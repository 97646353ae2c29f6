package recipes

import (
	"context"
	"sync"
)

func init() {
	for v, about := range map[Variant]string{
		Parent:      "ours; every waiter watches the parent: each release wakes all (the herd). Exclusive while sessions live; fenced by czxid; fifo",
		Predecessor: "ours; each waiter watches the node before its own: each release wakes one. Exclusive while sessions live; fenced by czxid; fifo",
	} {
		Register(Subject{
			Name: "lock/" + string(v), About: about, Variant: v,
			Open: func(ctx context.Context, env Env) (Client, error) {
				return openContender(ctx, env, func(s *Session) func(context.Context) (*Grant, error) {
					return NewLock(s, env.Parent, v).Acquire
				})
			},
			Drain: func(n, k int) Cost { return DrainCost(v, n, k) },
		})
	}
}

// contender makes our own lock or election a client of the lab.
type contender struct {
	s       *Session
	acquire func(context.Context) (*Grant, error)
	events  func(Event)

	mu    sync.Mutex
	grant *Grant
}

func openContender(ctx context.Context, env Env, bind func(*Session) func(context.Context) (*Grant, error)) (*contender, error) {
	s, err := Open(ctx, env.Servers, Options{Timeout: env.Timeout, Dial: env.Dial, MaxPacket: env.MaxPacket})
	if err != nil {
		return nil, err
	}
	events := env.Events
	if events == nil {
		events = func(Event) {}
	}
	return &contender{s: s, acquire: bind(s), events: events}, nil
}

func (c *contender) Acquire(ctx context.Context) (Claim, error) {
	g, err := c.acquire(ctx)
	if err != nil {
		return Claim{}, err
	}
	c.mu.Lock()
	c.grant = g
	c.mu.Unlock()
	g.OnChange(func(state GrantState) {
		switch state {
		case Doubtful:
			c.events(Event{Kind: EventSuspended, Token: g.Token})
		case Held:
			c.events(Event{Kind: EventRestored, Token: g.Token})
		case Forfeited:
			c.events(Event{Kind: EventLost, Token: g.Token})
		}
	})
	return Claim{Token: g.Token, Session: g.SessionID, Path: g.Path}, nil
}

func (c *contender) Release(ctx context.Context) error {
	c.mu.Lock()
	g := c.grant
	c.grant = nil
	c.mu.Unlock()
	if g == nil {
		return errNothingHeld
	}
	return g.Release(ctx)
}

func (c *contender) Close(context.Context) error { return c.s.Close() }
