package recipes

import (
	"context"

	"github.com/go-zookeeper/zk"
)

type sessionState int

const (
	connecting sessionState = iota
	connected
	disconnected // the session may or may not live at the servers
	ended        // final
)

// now returns the state, and a channel that is closed when it changes.
func (s *Session) now() (sessionState, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.changed
}

// AwaitConnected returns when the session is connected, has ended, or ctx is done.
func (s *Session) AwaitConnected(ctx context.Context) error {
	for {
		state, changed := s.now()
		switch state {
		case connected:
			return nil
		case ended:
			return s.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// setState changes the state and calls all subscribers. The caller holds mu.
func (s *Session) setState(next sessionState) {
	if s.state == next || s.state == ended {
		return
	}
	s.state = next
	close(s.changed)
	s.changed = make(chan struct{})
	for _, f := range s.watchers {
		f(next)
	}
}

// subscribe calls f at every change of state, in order, and returns the current state. f runs under
// the session's lock: it must return at once.
func (s *Session) subscribe(f func(sessionState)) (now sessionState, unsubscribe func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.nextWatcher
	s.nextWatcher++
	s.watchers[key] = f
	return s.state, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, key)
	}
}

// observe is go-zookeeper's event callback: it must not block nor call the Conn.
func (s *Session) observe(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	if e.State == zk.StateExpired {
		s.end(errExpired)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.State == zk.StateHasSession:
		s.setState(connected)
	case e.State == zk.StateDisconnected && s.state == connected:
		s.setState(disconnected)
	}
}

// background runs f in a goroutine of the session, which waits for it before it is finished. It
// returns false, without running f, if the session has ended. The caller does not hold mu.
func (s *Session) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == ended {
		return false
	}
	s.closing.Go(f)
	return true
}

// cleanUp runs f until it succeeds or the session ends, regardless of ctx's cancellation: what an
// abandoned operation left behind must be removed. It returns true once f has completed. While the
// connection is down it returns false at once, and f continues in the background.
func (s *Session) cleanUp(ctx context.Context, f func(context.Context) error) (swept bool) {
	done := make(chan struct{})
	running := s.background(func() {
		defer close(done)
		ctx, cancel := s.lifetime(context.WithoutCancel(ctx))
		defer cancel()
		_ = s.again(ctx, func() error { return f(ctx) }) // f records its result
	})
	for running {
		state, changed := s.now()
		select {
		case <-done:
			return true
		default:
		}
		if state != connected {
			return false
		}
		select {
		case <-done:
			return true
		case <-changed:
		}
	}
	return false
}

// lifetime returns a context that ends with the session.
func (s *Session) lifetime(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	now, unsubscribe := s.subscribe(func(state sessionState) {
		if state == ended {
			cancel()
		}
	})
	if now == ended {
		cancel()
	}
	return ctx, func() { unsubscribe(); cancel() }
}
