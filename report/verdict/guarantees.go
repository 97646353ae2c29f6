package verdict

import (
	"cmp"
	"slices"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict/internal/barrier"
	"github.com/zkbench/zkbench/report/verdict/internal/queue"
)

// The names of the guarantees.
const (
	ClaimValidity     = "claim-validity"
	LossNotification  = "loss-notification"
	OwnershipQuery    = "ownership-query"
	MutualExclusion   = "mutual-exclusion"
	NoEarlyPassage    = "no-early-passage"
	Fencing           = "fencing"
	Succession        = "succession"
	NoLeak            = "no-leak"
	NoOrphan          = "no-orphan"
	Progress          = "progress"
	WriterProgress    = "writer-progress"
	NoDuplicate       = "no-duplicate"
	NoLoss            = "no-loss"
	NoPhantom         = "no-phantom"
	QueueFIFO         = "queue-fifo"
	BusyLoop          = "busy-loop"
	FanOut            = "fan-out"
	NotificationCount = "notification-count"
	Completed         = "completed"
	Faults            = "fault-proof"
	HarnessHealth     = "harness-health"
)

// Kinds of recipe, the values in Guarantee.Concerns.
const (
	Lock     = "lock"
	Election = "election"
	Queue    = "queue"
)

// The modes of an acquire of a read-write lock, as history.Sample.Mode.
const writing = "write"

// Guarantee is a promise of a recipe, or a requirement of a trial.
type Guarantee struct {
	Name     string
	Order    int      // position in lists, by topic: grants first, then queues, costs, and the trial itself
	Concerns []string // the kinds of recipe to which it applies
	Promise  string   // the promise, for a reader with knowledge of ZooKeeper
	Harm     string   // the consequence of breaking it
	Help     string   // the violation, in one line

	// promised reports whether a subject with promises p gives this one; nil if every subject does.
	promised func(p history.Promises) bool
	// check returns a checker of one history, before the first record.
	check func(in *inputs) checker
}

// All returns the guarantees in the order of their rules, which is the order of the verdicts of a
// history.
func All() []Guarantee { return slices.Clone(registry) }

// Find returns the guarantee with that name, and whether it exists.
func Find(name string) (Guarantee, bool) {
	i := slices.IndexFunc(registry, func(g Guarantee) bool { return g.Name == name })
	if i < 0 {
		return Guarantee{}, false
	}
	return registry[i], true
}

// Names returns the names of all guarantees, in the order of [All].
func Names() []string {
	var names []string
	for _, g := range registry {
		names = append(names, g.Name)
	}
	return names
}

func exclusive(p history.Promises) bool   { return p.Exclusive }
func inOrder(p history.Promises) bool     { return p.FIFO }
func anyDelivery(p history.Promises) bool { return p.Delivery != "" }

// Delivery promises of a queue, as history.Promises.Delivery.
const (
	AtLeastOnce = queue.AtLeastOnce
	AtMostOnce  = queue.AtMostOnce
)

var (
	anyRecipe = []string{Lock, Election, Queue, facts.RWLock, facts.Semaphore, facts.Barrier}
	granting  = []string{Lock, Election, facts.RWLock, facts.Semaphore}
	anyGrant  = []string{Lock, Election, facts.RWLock, facts.Semaphore, facts.Barrier}
	queues    = []string{Queue}
)

// byItems returns a check of the items of a queue, which needs only their tracker.
func byItems(check func(q *queue.Items, truncated bool) Verdict) func(*inputs) checker {
	return func(in *inputs) checker {
		return checker{finish: func(end ending) Verdict { return check(in.items, end.truncated) }}
	}
}

func newQueueFIFO(in *inputs) checker {
	q := queue.NewSequence(in.items, in.history)
	return checker{record: q.Record, finish: func(end ending) Verdict { return q.Verdict(end.at, end.truncated) }}
}

var registry []Guarantee

// register adds guarantees to the registry, in the order of the rules.
func register(all ...Guarantee) {
	registry = append(registry, all...)
	slices.SortFunc(registry, func(a, b Guarantee) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
}

func init() { register(guarantees...) }

// guarantees are those of this package, apart from those that register themselves, as fifo.go shows.
var guarantees = []Guarantee{{
	Name: ClaimValidity, Order: 1, Concerns: anyGrant,
	Promise: "A granted client owns a live node first in line.",
	Harm:    "The client believes that it holds the lock without a valid node: another client can be granted at the same time.",
	Help:    "a grant whose node did not exist, belonged to another session, or was not first in line",
	check:   newClaimValidity,
}, {
	Name: LossNotification, Order: 2, Concerns: anyGrant, promised: func(p history.Promises) bool { return p.Events },
	Promise: "A holder whose session has ended is notified (suspended, lost or ended).",
	Harm:    "The holder continues until it queries its state, or forever.",
	Help:    "a holder was not notified that its session had ended",
	check:   newLossNotification,
}, {
	Name: OwnershipQuery, Order: 2, Concerns: anyGrant,
	Promise: "After a client is notified of the loss of its session, its ownership query (isOwner, isAcquired, hasLeadership) returns false.",
	Harm:    "Code that checks before it acts runs at the same time as the next holder.",
	Help:    "a client answered that it held the grant after it was notified that its session was lost",
	check:   newOwnershipQuery,
}, {
	Name: MutualExclusion, Order: 4, Concerns: granting, promised: exclusive,
	Promise: "At most one client holds the lock or leads (a semaphore allows one holder per permit, and readers may share a lock), and a client stops when it is notified that its session ended.",
	Harm:    "Two clients use the protected resource at once.",
	Help:    "two clients believed at the same time that they held the grant",
	check:   newMutualExclusion,
}, {
	Name: NoEarlyPassage, Order: 4, Concerns: []string{facts.Barrier}, promised: exclusive,
	Promise: "A client passes the barrier only after all parties have entered, and leaves it only after all parties are leaving.",
	Harm:    "A client starts before the others are ready, or uses results that are not complete.",
	Help:    "a client passed the barrier before all had entered, or left it before all were leaving",
	check: func(in *inputs) checker {
		p := barrier.New(in.history, in.commits, in.grants)
		return checker{record: p.Record, commit: p.Commit, finish: func(ending) Verdict { return p.Verdict() }}
	},
}, {
	Name: Fencing, Order: 5, Concerns: []string{Lock, Election, facts.RWLock}, promised: exclusive,
	Promise: "Each grant carries a token greater than all earlier ones, so that a resource can reject stale holders.",
	Harm:    "A stale holder overwrites its successor's data, or the current holder is rejected.",
	Help:    "a token that repeats or goes down, or a valid holder that the fenced resource refused",
	check:   newFencing,
}, {
	Name: Succession, Order: 6, Concerns: granting, promised: inOrder,
	Promise: "When a leader leaves, the candidate that joined next is the next leader.",
	Harm:    "An unexpected candidate leads.",
	Help:    "leadership did not pass to the next candidate in line",
	check:   newSuccession,
}, {
	Name: NoLeak, Order: 7, Concerns: anyRecipe,
	Promise: "Repeated operations do not leave a growing number of nodes behind.",
	Harm:    "The servers' memory and every list of the nodes grow until the client's session ends, or forever.",
	Help:    "each operation left a node behind",
	check:   newNoLeak,
}, {
	Name: NoOrphan, Order: 7, Concerns: anyGrant,
	Promise: "Each node in line whose session is alive belongs to a client that uses it to hold or to wait.",
	Harm:    "Clients queued behind the node wait until its session expires.",
	Help:    "a node that no client claims was left behind",
	check:   newNoOrphan,
}, {
	Name: Progress, Order: 8, Concerns: anyRecipe,
	Promise: "While the ensemble is available, waiting clients are granted, or given an item, within the limit.",
	Harm:    "Clients wait although the lock is free or items are available.",
	Help:    "no client was granted, or given an item, although nothing prevented it",
	check:   newProgress,
}, {
	Name: WriterProgress, Order: 8, Concerns: []string{facts.RWLock}, promised: func(p history.Promises) bool { return p.Writers },
	Promise: "A client that waits to write is granted within the limit, even if readers keep coming.",
	Harm:    "Nothing can be written while readers are busy.",
	Help:    "a writer waited while only readers were granted",
	check:   newWriterProgress,
}, {
	Name: NoDuplicate, Order: 9, Concerns: queues, promised: anyDelivery,
	Promise: "An item that was put once is delivered at most once with certainty.",
	Harm:    "The same work is done twice.",
	Help:    "an item that was put once was delivered twice, or was in the queue twice",
	check:   byItems((*queue.Items).NoDuplicate),
}, {
	Name: NoLoss, Order: 9, Concerns: queues, promised: anyDelivery,
	Promise: "Each item that was put is delivered or still in the queue.",
	Harm:    "The item is lost, and its work is never done.",
	Help:    "an item was put and removed from the queue, but no take returned it",
	check:   byItems((*queue.Items).NoLoss),
}, {
	Name: NoPhantom, Order: 9, Concerns: queues,
	Promise: "Each item was put before it is taken.",
	Harm:    "Work is done that was never requested.",
	Help:    "an item was taken that was never put",
	check:   byItems((*queue.Items).NoPhantom),
}, {
	Name: QueueFIFO, Order: 9, Concerns: queues, promised: inOrder,
	Promise: "Items leave the queue in the order in which they were put.",
	Harm:    "Newer items overtake older ones, which may never be taken.",
	Help:    "an item was taken although an older one was available",
	check:   newQueueFIFO,
}, {
	Name: BusyLoop, Order: 11, Concerns: anyRecipe,
	Promise: "A waiting client waits for a notification; it does not repeat its requests.",
	Harm:    "Waiting clients keep every member busy.",
	Help:    "a client repeated requests without a notification between them",
	check:   newBusyLoop,
}, {
	Name: FanOut, Order: 11, Concerns: anyRecipe,
	Promise: "One hand-off notifies no more clients than the variant's formula allows.",
	Harm:    "The cost of every release, for the servers and all waiters, grows with the number of waiters: a herd.",
	Help:    "a hand-off notified more clients, or caused more requests, than the formula allows",
	check:   newFanOut,
}, {
	Name: NotificationCount, Order: 11, Concerns: anyRecipe,
	Promise: "The wire and the members' own counters agree on the number of notifications.",
	Harm:    "Fan-out figures cannot be trusted.",
	Help:    "more notifications on the wire than the members fired (fail), or fewer (unknown)",
	check:   newNotificationCount,
}, {
	Name: Completed, Order: 12, Concerns: anyRecipe,
	Promise: "The trial ran to completion.",
	Harm:    "Parts of the scenario were not tested.",
	Help:    "a trial that could not start or complete; its result is unknown",
	check:   newCompleted,
}, {
	Name: Faults, Order: 12, Concerns: anyRecipe,
	Promise: "Every fault that was injected has shown its effect, and was healed.",
	Harm:    "The conditions of the test are unknown.",
	Help:    "a fault whose effect could not be proven; the result is unknown",
	check:   newFaults,
}, {
	Name: HarnessHealth, Order: 12, Concerns: anyRecipe,
	Promise: "The machine and the harness were fast enough for reliable measurements.",
	Harm:    "The measurements may reflect the machine rather than the recipe.",
	Help:    "the machine was too slow or too busy to measure on; the result is unknown",
	check:   newHarnessHealth,
}}
