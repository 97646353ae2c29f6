package wire

import (
	"net"
	"os"
	"sync"
	"time"
)

// readClock is a connection's read deadline, with a clock that can be stopped.
type readClock struct {
	mu      sync.Mutex
	due     time.Time     // as the client set it; zero: none
	setAt   time.Time     // when it was set, if the clock was stopped
	stopped time.Time     // when the clock was stopped; zero: it runs
	changed chan struct{} // closed when due changes; nil without a waiter
}

func (r *readClock) set(raw net.Conn, t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = t
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	if !r.stopped.IsZero() {
		r.setAt = time.Now()
		return nil
	}
	return raw.SetReadDeadline(t)
}

// stop removes the deadline from the connection.
func (r *readClock) stop(raw net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped.IsZero() {
		r.stopped, r.setAt = time.Now(), time.Time{}
		_ = raw.SetReadDeadline(time.Time{})
	}
}

// start restores the deadline, moved by the time for which the clock was stopped.
func (r *readClock) start(raw net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped.IsZero() {
		return
	}
	if !r.due.IsZero() {
		from := r.stopped
		if r.setAt.After(from) {
			from = r.setAt
		}
		r.due = r.due.Add(time.Since(from))
	}
	r.stopped = time.Time{}
	_ = raw.SetReadDeadline(r.due)
}

// wait returns nil when over or done is closed or the deadline has changed, and an error when a
// running clock has reached the deadline.
func (r *readClock) wait(over, done <-chan struct{}) error {
	r.mu.Lock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	changed, due, running := r.changed, r.due, r.stopped.IsZero()
	r.mu.Unlock()
	var late <-chan time.Time
	if running && !due.IsZero() {
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		late = t.C
	}
	select {
	case <-over:
	case <-done:
	case <-changed:
	case <-late:
		return os.ErrDeadlineExceeded
	}
	return nil
}
