package recipes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// ErrSessionEnded is wrapped by every error of a session that has ended, with the reason.
var ErrSessionEnded = errors.New("the session has ended")

// ErrStuck is wrapped by the error of an operation that had not returned long after its client was
// notified of the loss of its session, although the client had sent no request since.
var ErrStuck = errors.New("the operation does not return after the loss of the session, and the client sends no request")

// Reasons for the end of a session.
var (
	errExpired   = errors.New("the servers expired it")
	errDeadline  = errors.New("no request was acknowledged for a whole session timeout, so the servers may have expired it")
	errClosed    = errors.New("it was closed")
	errAbandoned = errors.New("it was abandoned without a close, like a crash")
)

// ErrConnectionLost means that the connection broke before the reply came: the outcome of the
// request is unknown. The session may live.
var ErrConnectionLost = errors.New("connection lost before the reply: outcome unknown")

// ErrUnfinished means that the caller's context ended before the reply came: the outcome of the
// request is unknown.
var ErrUnfinished = errors.New("given up before the reply: outcome unknown")

// ErrNotAcquired is returned by TryAcquire if another client holds the lock.
var ErrNotAcquired = errors.New("not acquired: another client is ahead")

// ErrGrantLost means that a grant has ended because its session or its node was lost.
var ErrGrantLost = errors.New("the grant is lost")

// Indeterminate reports whether the outcome of the operation with this error is unknown: a reply
// was lost, or the caller gave up during a request.
func Indeterminate(err error) bool {
	return errors.Is(err, ErrUnfinished) || replyLost(err)
}

// replyLost reports whether err means that no reply came. Errors of link.Write wrap
// ErrConnectionLost. All other errors came from a server, or from the encoder before anything was
// sent.
func replyLost(err error) bool {
	return slices.ContainsFunc([]error{
		ErrConnectionLost, zk.ErrConnectionClosed, zk.ErrClosing, zk.ErrNoServer,
		zk.ErrSessionExpired, zk.ErrSessionMoved,
	}, func(known error) bool { return errors.Is(err, known) })
}

func sessionEnded(cause error) error {
	return fmt.Errorf("%w: %w", ErrSessionEnded, cause)
}
