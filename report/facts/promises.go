package facts

import "github.com/zkbench/zkbench/report/history"

// Recipes, as Header.Recipe.
const (
	RWLock    = "rwlock"
	Semaphore = "semaphore"
	Barrier   = "barrier"
)

// Reading is the mode of a reader.
const Reading = "read"

// Permits returns the number of permits: 1 for a lock or an election; as many as there may be readers for
// a read-write lock, and as many for a barrier, which all clients pass together. A grant takes one
// permit, a writer's grant all.
func Permits(h history.Header) int {
	switch h.Recipe {
	case RWLock, Barrier:
		return 1 << 30
	case Semaphore:
		return max(h.Permits, 1)
	}
	return 1
}

// permitsForMode returns the permits that a grant takes.
func permitsForMode(h history.Header, mode string) int {
	if h.Recipe == RWLock && mode != Reading {
		return Permits(h)
	}
	return 1
}

// ExactlyOnce is a promise of delivery.
const ExactlyOnce = "exactly-once"

// PromisesOf returns the promises of the subject; all, if the history does not name its subject.
func PromisesOf(h history.Header) history.Promises {
	if h.Recipe == "" {
		return history.Promises{Exclusive: true, FIFO: true, Delivery: ExactlyOnce, Writers: true, Deadline: true, Events: true}
	}
	return h.Promises
}
