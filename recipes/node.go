package recipes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"
)

type sequentialNode struct {
	name string
	seq  int32
}

// sequence returns the number that ZooKeeper appended to a name after prefix. ok is false for a name
// that a sequential create with that prefix cannot have made, such as "config" or "_c_x".
//
// The suffix is "%010d" of an int32: ten characters, eleven below -999999999. It is negative after
// the parent's counter has wrapped (ZOOKEEPER-4372). sequence does not search, because every waiter of a
// herd calls it for every name at every notification.
func sequence(name, prefix string) (n int32, ok bool) {
	for _, width := range [...]int{10, 11} {
		i := len(name) - width
		if i >= len(prefix) && name[i-len(prefix):i] == prefix {
			return number(name[i:])
		}
	}
	return 0, false
}

func number(s string) (n int32, ok bool) {
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil || s[0] == '+' {
		return 0, false
	}
	return int32(v), true
}

// before reports whether sequence number a was issued before b. The counter wraps from 2147483647
// to -2147483648, so before compares the distance, as with serial numbers (RFC 1982). That is correct as
// long as fewer than 2^31 creates lie between two existing nodes.
func before(a, b int32) bool { return a-b < 0 }

// sortedNodes returns the sequential children with that prefix, in the order in which the servers created them.
func sortedNodes(names []string, prefix string) []sequentialNode {
	out := make([]sequentialNode, 0, len(names))
	for _, name := range names {
		if n, ok := sequence(name, prefix); ok {
			out = append(out, sequentialNode{name, n})
		}
	}
	slices.SortFunc(out, func(a, b sequentialNode) int { return cmp.Or(int(a.seq-b.seq), cmp.Compare(a.name, b.name)) }) // see before
	return out
}

// ahead returns the number of nodes with one of the prefixes that precede the node ours, which has prefix
// own, and the name of the last of them. found is false if ours is not in names. ahead does not sort,
// because every waiter of a herd calls it at every notification.
func ahead(names []string, ours, own string, prefixes ...string) (n int, next string, found bool) {
	seq, ok := sequence(ours, own)
	if !ok {
		return 0, "", false
	}
	var nearest int32
	for _, name := range names {
		if name == ours {
			found = true
			continue
		}
		for _, prefix := range prefixes {
			other, ok := sequence(name, prefix)
			if !ok || !before(other, seq) {
				continue
			}
			n++
			if next == "" || before(nearest, other) {
				next, nearest = name, other
			}
		}
	}
	if !found {
		return 0, "", false
	}
	return n, next, true
}

// ErrSessionEnded is wrapped by every error of a session that has ended, with the reason.
var ErrSessionEnded = errors.New("the session has ended")

// ErrStuck is wrapped by the error of an operation that had not returned long after its client was
// notified of the loss of its session, while the client had sent no request since.
var ErrStuck = errors.New("the operation has not returned since the session was lost, and the client is not sending any requests")

// Reasons for the end of a session.
var (
	errExpired   = errors.New("the servers expired the session")
	errDeadline  = errors.New("no request was acknowledged for a whole session timeout, so the servers may have expired the session")
	errClosed    = errors.New("the session was closed")
	errAbandoned = errors.New("the session was abandoned without a close, as in a crash")
)

// ErrConnectionLost means that the connection broke before the reply came: the outcome of the
// request is unknown. The session may still be alive.
var ErrConnectionLost = errors.New("connection lost before the reply: outcome unknown")

// ErrUnfinished means that the caller's context ended before the reply came: the outcome of the request is unknown.
var ErrUnfinished = errors.New("given up before the reply: outcome unknown")

// ErrNotAcquired is returned by TryAcquire if another client holds the lock.
var ErrNotAcquired = errors.New("not acquired: another client is ahead")

// ErrGrantLost means that a grant has ended because its session or its node was lost.
var ErrGrantLost = errors.New("the grant is lost")

// Indeterminate reports whether the outcome of the operation with this error is unknown: a reply
// was lost, or the caller gave up during a request.
func Indeterminate(err error) bool {
	return errors.Is(err, ErrUnfinished) || isReplyLost(err)
}

// isReplyLost reports whether err means that no reply came. Errors of link.Write wrap ErrConnectionLost. All other
// errors came from a server, or from the encoder before anything was sent.
func isReplyLost(err error) bool {
	return slices.ContainsFunc([]error{
		ErrConnectionLost, zk.ErrConnectionClosed, zk.ErrClosing, zk.ErrNoServer,
		zk.ErrSessionExpired, zk.ErrSessionMoved,
	}, func(known error) bool { return errors.Is(err, known) })
}

func sessionEnded(cause error) error { return fmt.Errorf("%w: %w", ErrSessionEnded, cause) }
