package recipes

import "context"

func init() {
	for v, about := range map[Variant]string{
		Parent:      "built-in; every waiter watches the parent: each release notifies all (the herd). Exclusive while sessions are alive; fenced by czxid; fifo",
		Predecessor: "built-in; each waiter watches its predecessor: each release notifies one client, which need not list. Exclusive while sessions are alive; fenced by czxid; fifo",
	} {
		Register(Subject{
			Name: "lock/" + string(v), About: about, Recipe: RecipeLock, Variant: v,
			Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, Formulas: contestFormulas[v], Writes: true, ReportsHeld: true,
			Open: openContender(func(s *Session, parent string) acquirer { return NewLock(s, parent, v).Acquire }),
		})
	}
	Register(Subject{
		Name: "lock/predecessor-plain", Recipe: RecipeLock, Variant: Predecessor,
		About:    "built-in, without the marker of the last holder: a notified client lists the whole line, the textbook algorithm",
		Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, Formulas: plainFormulas,
		Open: openContender(func(s *Session, parent string) acquirer {
			l := NewLock(s, parent, Predecessor)
			l.contest.plain = true
			return l.Acquire
		}),
	})
}

// lockPrefix separates the random ID and the sequence number in the names of a lock's nodes.
const lockPrefix = "-lock-"

// Lock is the lock recipe of ZooKeeper's documentation. One Lock belongs to one session. It may be
// acquired again after each release. Several goroutines may contend with the same one: each acquire
// has a node of its own.
type Lock struct{ contest contest }

// NewLock returns the lock at parent, an absolute path, which is created if it is missing. It sends
// nothing. The parent's data belongs to a predecessor lock: each release writes there (mark.go).
func NewLock(s *Session, parent string, v Variant) *Lock {
	return &Lock{contest{s: s, parent: parent, prefix: lockPrefix, variant: v}}
}

// Acquire waits until the lock is held. If it fails, for any reason, it leaves no node in a
// live session. Errors: ctx's own; ErrSessionEnded.
func (l *Lock) Acquire(ctx context.Context) (*Grant, error) { return l.contest.win(ctx) }

// TryAcquire takes the lock if no client is ahead, and otherwise returns ErrNotAcquired.
func (l *Lock) TryAcquire(ctx context.Context) (*Grant, error) { return l.contest.try(ctx, false) }
