package recipes

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
)

// GrantState is what a holder may believe.
type GrantState int

// The states of a grant.
const (
	Held      GrantState = iota // the holder may act; in no other state it may
	Suspended                   // the connection is gone: start no new effects
	Lost                        // the session or the node is gone; final
	Released                    // let go by the holder; final
)

func (s GrantState) String() string {
	return [...]string{"held", "suspended", "lost", "released"}[s]
}

// Grant is the right that a client holds: a lock, or a leadership. It is bound to
// one session and one node, and is worth something only while both live.
type Grant struct {
	Token     int64  // fencing token: the czxid of the node. Later grants have higher tokens
	SessionID int64  // of the session that owns the node
	Path      string // of the node

	s      *Session
	markAt string // where a release leaves its mark (mark.go); "" nowhere

	mu          sync.Mutex
	state       GrantState
	lost        chan struct{}
	onChange    func(GrantState) // nil is allowed
	suspensions int              // so far; an owner check counts only for its own
	unsubscribe func()
	release     sync.Once
	releaseErr  error
}

// newGrant binds a grant to its session. standing is false, and the grant useless,
// if the session is not connected at this instant.
func newGrant(s *Session, path string, token int64) (g *Grant, standing bool) {
	g = &Grant{Token: token, SessionID: s.ID(), Path: path, s: s, lost: make(chan struct{})}
	now, unsubscribe := s.subscribe(g.sessionChanged)
	if now != connected {
		unsubscribe()
		return nil, false
	}
	g.unsubscribe = unsubscribe
	return g, true
}

// State returns what the holder may believe now.
func (g *Grant) State() GrantState { g.mu.Lock(); defer g.mu.Unlock(); return g.state }

// Lost is closed when the grant is lost for good. It stays open after a release.
func (g *Grant) Lost() <-chan struct{} { return g.lost }

// notify calls f at every change of state from now on, at the instant it happens, and
// once now where the grant is not held. f must return at once and must not call the
// grant or its session.
func (g *Grant) notify(f func(GrantState)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.onChange = f
	if g.state != Held {
		f(g.state)
	}
}

// sessionChanged runs under the session's lock.
func (g *Grant) sessionChanged(state sessionState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case disconnected:
		g.suspensions++
		g.set(Suspended)
	case connected:
		suspension := g.suspensions
		g.s.closing.Go(func() { g.restore(suspension) })
	case ended:
		g.set(Lost)
	}
}

// restore checks, after a reconnect, whether the node is still there and still the
// session's. Only that makes the grant good again.
func (g *Grant) restore(suspension int) {
	ctx, cancel := g.s.lifetime(context.Background())
	defer cancel()
	stat, err := g.stat(ctx)
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

// stat returns the Stat of the grant's node, nil if it is gone, as of now and not
// as of whenever the member that serves the session was last up to date.
func (g *Grant) stat(ctx context.Context) (*zk.Stat, error) {
	if err := g.s.barrier(ctx, g.Path+"-barrier"); err != nil {
		return nil, err
	}
	return g.s.Exists(ctx, g.Path)
}

// set changes the state. The caller holds mu.
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

// Release lets go. The holder must stop acting before it calls: belief ends with
// the call. A nil error means that the node is certainly gone. If ctx ends before that
// is known, the removal goes on, in the background if the connection is down, for as
// long as the session lives. A grant that was lost before returns ErrGrantLost.
// Later calls return what the first one did.
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
		if g.s.sweep(ctx, func(ctx context.Context) error { last = g.delete(ctx); return last }) {
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
	return fmt.Errorf("release %s: the node may still be there: %w", g.Path, err)
}

// nodeDeleted ends a grant whose node its holder has deleted as part of something else.
func (g *Grant) nodeDeleted() { g.release.Do(func() { g.end() }) }

// end ends the holder's belief and returns the state before.
func (g *Grant) end() (was GrantState) {
	g.unsubscribe()
	g.mu.Lock()
	defer g.mu.Unlock()
	was = g.state
	g.set(Released)
	return was
}
