package recipes

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
)

// GrantState is what a holder may believe.
type GrantState int

// The states of a grant. Held is the only one in which the holder may act.
const (
	Held      GrantState = iota
	Doubtful             // suspended: the connection is gone; start no new effects
	Forfeited            // lost: the session or the node is gone; final
	Released             // let go by the holder; final
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

	s        *Session
	onChange func(GrantState)

	mu        sync.Mutex
	state     GrantState
	changed   chan struct{} // closed and replaced at every change
	lost      chan struct{}
	checks    int // suspensions so far; an owner check counts only for its own
	cancel    func()
	release   sync.Once
	releasing error
}

// newGrant binds a grant to its session. standing is false, and the grant useless,
// if the session is not connected at this instant.
func newGrant(s *Session, path string, token int64) (g *Grant, standing bool) {
	g = &Grant{Token: token, SessionID: s.ID(), Path: path, s: s,
		changed: make(chan struct{}), lost: make(chan struct{})}
	now, cancel := s.subscribe(g.sessionChanged)
	if now != Connected {
		cancel()
		return nil, false
	}
	g.cancel = cancel
	return g, true
}

// State returns what the holder may believe now.
func (g *Grant) State() GrantState { g.mu.Lock(); defer g.mu.Unlock(); return g.state }

// Changed returns a channel that is closed at the next change of state.
func (g *Grant) Changed() <-chan struct{} { g.mu.Lock(); defer g.mu.Unlock(); return g.changed }

// Lost is closed when the grant is lost for good. It stays open after a release.
func (g *Grant) Lost() <-chan struct{} { return g.lost }

// Await returns as soon as the grant is in another state than Held: at once, when
// it already is.
func (g *Grant) Await(ctx context.Context) GrantState {
	for {
		g.mu.Lock()
		state, changed := g.state, g.changed
		g.mu.Unlock()
		if state != Held {
			return state
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Held
		}
	}
}

// OnChange has f told every change of state from now on, at the instant it happens.
// f must return at once and must not call the grant or its session.
func (g *Grant) OnChange(f func(GrantState)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.onChange = f
	if g.state != Held {
		f(g.state)
	}
}

// sessionChanged runs under the session's lock.
func (g *Grant) sessionChanged(state State) {
	switch state {
	case Suspended:
		g.mu.Lock()
		g.checks++
		g.set(Doubtful)
		g.mu.Unlock()
	case Connected:
		g.mu.Lock()
		check := g.checks
		g.mu.Unlock()
		g.s.closing.Go(func() { g.resume(check) })
	case Ended:
		g.mu.Lock()
		g.set(Forfeited)
		g.mu.Unlock()
	}
}

// resume looks, after a reconnect, whether our node is still there and still ours.
// Only that makes the grant good again.
func (g *Grant) resume(check int) {
	ctx, cancel := g.s.lifetime(context.Background())
	defer cancel()
	stat, err := g.look(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil || check != g.checks || g.state != Doubtful {
		return // the session has ended, or a newer suspension has its own check
	}
	if stat == nil || stat.Czxid != g.Token || stat.EphemeralOwner != g.SessionID {
		g.set(Forfeited)
		return
	}
	g.set(Held)
}

// look returns the Stat of the grant's node, nil if it is gone, as of now and not
// as of whenever the member that serves us was last up to date.
func (g *Grant) look(ctx context.Context) (*zk.Stat, error) {
	if err := g.s.barrier(ctx, g.Path+"-barrier"); err != nil {
		return nil, err
	}
	return g.s.Exists(ctx, g.Path)
}

// set changes the state; the caller holds mu.
func (g *Grant) set(next GrantState) {
	if g.state == next || g.state == Forfeited || g.state == Released {
		return
	}
	g.state = next
	close(g.changed)
	g.changed = make(chan struct{})
	if next == Forfeited {
		close(g.lost)
	}
	if g.onChange != nil {
		g.onChange(next)
	}
}

// Release lets go. The holder must stop acting before it calls: belief ends with
// the call. A nil error means that the node is certainly gone. If ctx ends before that
// is known, the removal goes on, in the background if the connection is down, for as
// long as the session lives. A grant that was lost before returns
// ErrGrantLost. Later calls return what the first one did.
func (g *Grant) Release(ctx context.Context) error {
	g.release.Do(func() { g.releasing = g.letGo(ctx) })
	return g.releasing
}

func (g *Grant) letGo(ctx context.Context) error {
	g.cancel()
	g.mu.Lock()
	lost := g.state == Forfeited
	g.set(Released)
	g.mu.Unlock()
	if err := g.s.Err(); err != nil {
		return fmt.Errorf("release %s: %w: %w", g.Path, ErrGrantLost, err)
	}
	err := g.s.remove(ctx, g.Path)
	removed := err == nil
	if !removed {
		var last error
		if g.s.sweep(ctx, func(ctx context.Context) error { last = g.s.remove(ctx, g.Path); return last }) {
			removed, err = last == nil, last
		}
	}
	switch {
	case removed && lost:
		return fmt.Errorf("release %s: %w", g.Path, ErrGrantLost)
	case removed:
		return nil
	case g.s.Err() != nil:
		return fmt.Errorf("release %s: %w: %w", g.Path, ErrGrantLost, err)
	}
	return fmt.Errorf("release %s: the node may still be there: %w", g.Path, err)
}

// leave ends a grant whose node its holder has deleted as part of something else.
func (g *Grant) leave() {
	g.release.Do(func() {
		g.cancel()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.set(Released)
	})
}
