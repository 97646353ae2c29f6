package recipes

import "context"

// lockPrefix stands between the random id and the sequence number in the names of
// a lock's nodes.
const lockPrefix = "-lock-"

// Lock is the lock recipe of ZooKeeper's documentation. One Lock belongs to one
// session; it may be acquired again after each release, and several goroutines may
// contend through the same one: each acquire has a node of its own.
type Lock struct{ contest contest }

// NewLock returns the lock at parent, an absolute path, which is made when it is
// missing. Nothing is sent yet.
func NewLock(s *Session, parent string, v Variant) *Lock {
	return &Lock{contest{s: s, parent: parent, prefix: lockPrefix, variant: v}}
}

// Acquire waits until the lock is ours. When it fails, for whatever reason, no
// node of it stays behind in a live session. Errors: ctx's own; ErrSessionEnded.
func (l *Lock) Acquire(ctx context.Context) (*Grant, error) { return l.contest.win(ctx) }

// TryAcquire takes the lock if nobody is ahead, and returns ErrNotAcquired otherwise.
func (l *Lock) TryAcquire(ctx context.Context) (*Grant, error) { return l.contest.try(ctx, false) }
