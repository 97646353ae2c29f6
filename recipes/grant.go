package recipes

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
)

// GrantState is the state of a grant as its holder knows it.
type GrantState int

// The states of a grant.
const (
	Held      GrantState = iota // the holder may act, in this state only
	Suspended                   // disconnected: do not start anything that the grant protects
	Lost                        // the session has ended or the node was deleted; final
	Released                    // released by the holder; final
)

func (s GrantState) String() string {
	return [...]string{"held", "suspended", "lost", "released"}[s]
}

// Grant is the right that a client holds: a lock, or a leadership. It is bound to one session and
// one node, and is valid only while both exist.
type Grant struct {
	Token     int64  // fencing token: the czxid of the node. Later grants have higher tokens
	SessionID int64  // of the session that owns the node
	Path      string // of the node

	s      *Session
	markAt string // path of the node to which a release writes its mark; "" for no mark

	mu          sync.Mutex
	state       GrantState
	lost        chan struct{}
	onChange    func(GrantState) // may be nil
	suspensions int              // number so far; an owner check is valid only for the suspension that started it
	release     sync.Once
	releaseErr  error
}

// newGrant returns a grant that follows the state of its session. standing is false if that is not connected.
func newGrant(s *Session, path string, token int64) (g *Grant, standing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != connected {
		return nil, false
	}
	g = &Grant{Token: token, SessionID: s.id, Path: path, s: s, lost: make(chan struct{})}
	s.watchers[g] = g.sessionChanged
	return g, true
}

// State returns the present state of the grant, as its holder knows it.
func (g *Grant) State() GrantState { g.mu.Lock(); defer g.mu.Unlock(); return g.state }

// Lost is closed when the grant is lost. It stays open after a release.
func (g *Grant) Lost() <-chan struct{} { return g.lost }

// notify makes the grant call f at the instant of every later change of state, and calls f now if the
// grant is not held. f must return at once and must not call the grant or its session.
func (g *Grant) notify(f func(GrantState)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.onChange = f
	if g.state != Held {
		f(g.state)
	}
}

// sessionChanged applies a state of the session to the grant. It runs under the session's lock.
func (g *Grant) sessionChanged(state sessionState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case disconnected:
		g.suspensions++
		g.set(Suspended)
	case connected:
		suspension := g.suspensions
		g.s.goroutines.Go(func() { g.restore(suspension) })
	case ended:
		g.set(Lost)
	}
}

// restore holds the grant again if, after a reconnect, the node still exists and belongs to the session.
func (g *Grant) restore(suspension int) {
	stat, err := g.stat(context.Background()) // fails when the session ends
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err != nil || suspension != g.suspensions || g.state != Suspended:
		// The session has ended, or a newer suspension has its own check.
	case stat == nil || stat.Czxid != g.Token || stat.EphemeralOwner != g.SessionID:
		g.set(Lost)
	default:
		g.set(Held)
	}
}

// stat returns the Stat of the grant's node, or nil, after a write, because the member may not be up to date.
func (g *Grant) stat(ctx context.Context) (*zk.Stat, error) {
	if err := g.s.barrier(ctx, g.Path+"-barrier"); err != nil {
		return nil, err
	}
	return g.s.Exists(ctx, g.Path)
}

func (g *Grant) set(next GrantState) {
	if g.state == next || g.state == Lost || g.state == Released {
		return
	}
	g.state = next
	if next == Lost {
		close(g.lost)
	}
	if g.onChange != nil {
		g.onChange(next)
	}
}

// Release deletes the grant's node. The holder must stop acting before the call, which ends the grant. A
// nil error means that the node is certainly deleted. If ctx ends before that is known, the removal
// continues as long as the session is alive, in the background if the connection is down. Release returns
// ErrGrantLost if the grant was lost before. Later calls return the result of the first.
func (g *Grant) Release(ctx context.Context) error {
	g.release.Do(func() { g.releaseErr = g.remove(ctx) })
	return g.releaseErr
}

func (g *Grant) remove(ctx context.Context) error {
	lost := g.end() == Lost
	if err := g.s.Err(); err != nil {
		return fmt.Errorf("release %s: %w: %w", g.Path, ErrGrantLost, err)
	}
	err := g.delete(ctx)
	if err != nil {
		var last error
		if g.s.cleanUp(ctx, func(ctx context.Context) error { last = g.delete(ctx); return last }) {
			err = last
		}
	}
	switch {
	case err == nil && lost:
		return fmt.Errorf("release %s: %w", g.Path, ErrGrantLost)
	case err == nil:
		return nil
	case g.s.Err() != nil:
		return fmt.Errorf("release %s: %w: %w", g.Path, ErrGrantLost, err)
	}
	return fmt.Errorf("release %s: the node may still exist: %w", g.Path, err)
}

func (g *Grant) end() (was GrantState) {
	g.s.mu.Lock()
	delete(g.s.watchers, g)
	g.s.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	was = g.state
	g.set(Released)
	return was
}
