package recipes

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// How a session ends. Every error that a finished session returns wraps
// ErrSessionEnded and one of the others.
var (
	ErrSessionEnded = errors.New("the session has ended")

	ErrExpired   = errors.New("the servers expired it")
	ErrDeadline  = errors.New("no request was acknowledged for a whole session timeout, so the servers may have expired it")
	ErrClosed    = errors.New("it was closed")
	ErrAbandoned = errors.New("it was abandoned without a close, like a crash")
)

// ErrConnectionLost says that the connection broke before the reply came: the
// request may or may not have had its effect. The session may live on.
var ErrConnectionLost = errors.New("connection lost before the reply: outcome unknown")

// ErrNotAcquired is what TryAcquire returns when somebody else holds the lock.
var ErrNotAcquired = errors.New("not acquired: somebody else is ahead")

// ErrGrantLost says that a grant is over because its session or its node is gone.
var ErrGrantLost = errors.New("the grant is lost")

// ended wraps the cause of a session's end for callers.
func ended(cause error) error {
	return fmt.Errorf("%w: %w", ErrSessionEnded, cause)
}

// replyLost tells whether err says that no reply came, so that the outcome is open.
// What link.Write returns wraps ErrConnectionLost; whatever is not in this list came
// from a server, or from the encoder before anything was sent.
func replyLost(err error) bool {
	for _, known := range []error{
		ErrConnectionLost, zk.ErrConnectionClosed, zk.ErrClosing, zk.ErrNoServer,
		zk.ErrSessionExpired, zk.ErrSessionMoved,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// Indeterminate tells whether err leaves open if the operation had its effect: a
// reply was lost, or the caller gave up while a request was under way.
func Indeterminate(err error) bool {
	return errors.Is(err, ErrUnfinished) || replyLost(err)
}

// ErrUnfinished says that the caller's context ended before the reply came.
var ErrUnfinished = errors.New("given up before the reply: outcome unknown")
