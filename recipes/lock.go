package recipes

import "context"

func init() {
	for v, about := range map[Variant]string{
		Parent:      "built-in; every waiter watches the parent: each release notifies all (the herd). Exclusive while sessions are alive; fenced by czxid; fifo",
		Predecessor: "built-in; each waiter watches its predecessor: each release notifies one client, which does not have to list the children. Exclusive while sessions are alive; fenced by czxid; fifo",
	} {
		Register(Subject{
			Name: "lock/" + string(v), About: about, Recipe: RecipeLock, Variant: v,
			Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, Formulas: contestFormulas[v], Writes: true, ReportsHeld: true,
			Open: openContender(func(s *Session, env Env) *contender {
				return &contender{acquire: NewLock(s, env.Parent, v).Acquire}
			}),
		})
	}
	Register(Subject{
		Name: "lock/predecessor-plain", Recipe: RecipeLock, Variant: Predecessor,
		About:    "built-in, without the marker of the last holder: a notified client lists all waiters, as in the textbook algorithm",
		Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, Formulas: relisting,
		Open: openContender(func(s *Session, env Env) *contender {
			l := NewLock(s, env.Parent, Predecessor)
			l.contest.unmarked = true
			return &contender{acquire: l.Acquire}
		}),
	})
}

const lockPrefix = "-lock-"

// Lock is the lock recipe of ZooKeeper's documentation. One Lock belongs to one session. It may be
// acquired again after each release. Several goroutines may contend with the same one: each acquire
// has a node of its own.
type Lock struct{ contest contest }

// NewLock returns the lock at parent, an absolute path, which is created if it is missing. It sends
// nothing. In the predecessor variant each release overwrites the parent's data.
func NewLock(s *Session, parent string, v Variant) *Lock {
	return &Lock{contest{s: s, parent: parent, prefix: lockPrefix, variant: v}}
}

// Acquire waits until the lock is held. If it fails, it leaves no node in a live session. It returns ctx's
// error if ctx is done, and ErrSessionEnded if the session has ended.
func (l *Lock) Acquire(ctx context.Context) (*Grant, error) { return l.contest.acquire(ctx) }

// TryAcquire acquires the lock if no client is ahead, and otherwise returns ErrNotAcquired.
func (l *Lock) TryAcquire(ctx context.Context) (*Grant, error) {
	return l.contest.acquireOnce(ctx, false)
}
