package recipes

import "context"

func init() {
	for v, who := range map[Variant]string{
		Parent:      "every waiter watches the parent: each release notifies all (the herd)",
		Predecessor: "a reader watches the last writer ahead of it, a writer watches its predecessor: a reader's release notifies at most one client, a writer's release notifies the readers directly behind it",
	} {
		Register(Subject{
			Name: "rwlock/" + string(v), Recipe: RecipeRWLock, Variant: v,
			About:    "built-in; " + who + ". Several readers or one writer while sessions are alive; writers fenced by czxid; no client overtakes a conflicting waiter",
			Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, Formulas: rwLockFormulas[v], Writes: true, ReportsHeld: true,
			Open: openContender(func(s *Session, env Env) *contender {
				l := NewRWLock(s, env.Parent, v)
				return &contender{acquire: l.Acquire, shared: l.AcquireShared}
			}),
		})
	}
}

// The prefixes of a read-write lock's nodes, between the random ID and the sequence number.
const (
	readPrefix  = "-read-"
	writePrefix = "-write-"
)

// RWLock is the recipe "Shared Locks" of ZooKeeper's documentation: one line of readers and writers.
// A writer holds when it is first; a reader holds when no writer is ahead of it. No waiter is overtaken by
// a conflicting waiter that joined later, so neither readers nor writers starve.
//
// One RWLock belongs to one session, and may be acquired again after each release. A holder must not
// acquire it again: a reader that waits to write behind its own node waits forever.
type RWLock struct{ read, write contest }

// NewRWLock returns the read-write lock at parent, which is created if it is missing. It sends nothing.
func NewRWLock(s *Session, parent string, v Variant) *RWLock {
	// Not marked: a reader that releases may leave other readers ahead of the writer that it notifies.
	c := contest{s: s, parent: parent, variant: v, unmarked: true}
	l := &RWLock{read: c, write: c}
	l.read.prefix, l.read.blockedBy = readPrefix, []string{writePrefix}
	l.write.prefix, l.write.blockedBy = writePrefix, []string{readPrefix, writePrefix}
	return l
}

// Acquire waits until the lock is held for writing. Errors as of Lock.Acquire.
func (l *RWLock) Acquire(ctx context.Context) (*Grant, error) { return l.write.acquire(ctx) }

// AcquireShared waits until the lock is held for reading.
func (l *RWLock) AcquireShared(ctx context.Context) (*Grant, error) { return l.read.acquire(ctx) }

// rwLockFormulas are exact if all contenders write: their requests are then those of a plain lock.
var rwLockFormulas = map[Variant]Formulas{Parent: contestFormulas[Parent], Predecessor: relisting}
