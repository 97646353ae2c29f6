package recipes

import (
	"context"
	"errors"
	"sync"
)

type acquirer func(context.Context) (*Grant, error)

type contender struct {
	s       *Session
	acquire acquirer
	events  func(Event)

	mu    sync.Mutex
	grant *Grant
}

func openContender(bind func(s *Session, parent string) acquirer) func(context.Context, Env) (Client, error) {
	return func(ctx context.Context, env Env) (Client, error) {
		s, err := env.open(ctx)
		if err != nil {
			return nil, err
		}
		return &contender{s: s, acquire: bind(s, env.Parent), events: env.event}, nil
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

// eventOf maps a grant's state to the event for a subject's client.
var eventOf = map[GrantState]EventKind{Suspended: EventSuspended, Held: EventRestored, Lost: EventLost}

func (c *contender) Acquire(ctx context.Context) (Claim, error) {
	g, err := c.acquire(ctx)
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

// errNothingHeld is returned by a Release without an Acquire before it.
var errNothingHeld = errors.New("release: nothing is held")

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
