package recipes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// ErrSessionEnded is wrapped by every error of a session that has ended. The text says
// why it ended.
var ErrSessionEnded = errors.New("the session has ended")

// ErrStuck is wrapped by the error of an operation that had not returned long after its client was
// notified that its session was lost, although the client had sent no request since.
var ErrStuck = errors.New("the operation does not return after the loss of the session, and the client sends no request")

// How a session ends.
var (
	errExpired   = errors.New("the servers expired it")
	errDeadline  = errors.New("no request was acknowledged for a whole session timeout, so the servers may have expired it")
	errClosed    = errors.New("it was closed")
	errAbandoned = errors.New("it was abandoned without a close, like a crash")
)

// ErrConnectionLost says that the connection broke before the reply came: the
// request may or may not have had its effect. The session may live on.
var ErrConnectionLost = errors.New("connection lost before the reply: outcome unknown")

// ErrUnfinished says that the caller's context ended before the reply came: the request
// may or may not have its effect.
var ErrUnfinished = errors.New("given up before the reply: outcome unknown")

// ErrNotAcquired is returned by TryAcquire when somebody else holds the lock.
var ErrNotAcquired = errors.New("not acquired: somebody else is ahead")

// ErrGrantLost says that a grant is over because its session or its node is gone.
var ErrGrantLost = errors.New("the grant is lost")

// Indeterminate reports whether err leaves open if the operation had its effect: a
// reply was lost, or the caller gave up while a request was under way.
func Indeterminate(err error) bool {
	return errors.Is(err, ErrUnfinished) || replyLost(err)
}

// replyLost reports whether err says that no reply came. What link.Write returns wraps
// ErrConnectionLost. Whatever is not in this list came from a server, or from the
// encoder before anything was sent.
func replyLost(err error) bool {
	return slices.ContainsFunc([]error{
		ErrConnectionLost, zk.ErrConnectionClosed, zk.ErrClosing, zk.ErrNoServer,
		zk.ErrSessionExpired, zk.ErrSessionMoved,
	}, func(known error) bool { return errors.Is(err, known) })
}

// sessionEnded wraps the cause of a session's end for callers.
func sessionEnded(cause error) error {
	return fmt.Errorf("%w: %w", ErrSessionEnded, cause)
}
