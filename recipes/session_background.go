package recipes

import "context"

// background runs f beside the session, which waits for it before it is finished.
// It returns false, without running f, if the session has ended. The caller does not
// hold mu.
func (s *Session) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == ended {
		return false
	}
	s.closing.Go(f)
	return true
}

// sweep runs f until it succeeds or the session ends, not bound to ctx's
// cancellation: what an abandoned operation left behind must go all the same. It
// returns true once f has run to its end. While the connection is down it returns
// false at once, and f goes on in the background.
func (s *Session) sweep(ctx context.Context, f func(context.Context) error) (swept bool) {
	done := make(chan struct{})
	running := s.background(func() {
		defer close(done)
		ctx, cancel := s.lifetime(context.WithoutCancel(ctx))
		defer cancel()
		_ = s.again(ctx, func() error { return f(ctx) }) // f says what became of it
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
