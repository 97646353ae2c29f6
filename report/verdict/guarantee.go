package verdict

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Kinds of recipe, as Guarantee.Concerns.
const (
	Lock     = "lock"
	Election = "election"
	Queue    = "queue"
)

// Guarantee is a promise of a recipe, or a requirement of a trial. Each has a file of its own,
// which registers it.
type Guarantee struct {
	Name     string
	Rule     int      // the number in the safety definitions
	Concerns []string // the kinds of recipe to which it applies
	Promise  string   // the promise, for a reader with knowledge of ZooKeeper
	Harm     string   // the consequence of breaking it
	Help     string   // the violation, in one line

	// promised reports whether a subject with these promises promises it; nil: every subject does.
	promised func(p history.Promises) bool
	// check returns a checker of one history, before the first record.
	check func(in *inputs) checker
}

// checker checks one guarantee in one history. All fields but finish may be nil.
type checker struct {
	record func(n history.Numbered) // every record, in order
	belief func(b Belief)           // every belief, in the order of its start
	rest   func(b Belief)           // of a truncated history, the remaining beliefs with a known end
	commit func(r history.Record)   // every commit and their end, each before the first record of a client that may know of it
	// finish returns the verdict.
	finish func(end ending) Verdict
}

// ending is the end of a history.
type ending struct {
	at time.Duration // the latest time in it
	// cut: the rest could not be read. An operation without a record may have one there: it is
	// recorded when it returns. A finding that depends on its absence proves nothing.
	cut bool
}

// inputs are the inputs of a checker in addition to records and beliefs.
type inputs struct {
	history  *history.History
	promises history.Promises
	overlap  func(Overlap)
	items    *items
	line     *nodeTable // by the commits; nil without
	grants   *grants    // looked up in them; nil without
}

var registry []Guarantee

// register adds a guarantee to the registry, in the order of the rules.
func register(g Guarantee) {
	registry = append(registry, g)
	slices.SortFunc(registry, func(a, b Guarantee) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Name, b.Name))
	})
}

// All returns the guarantees in the order of their rules, which is the order of the verdicts of a
// history.
func All() []Guarantee { return slices.Clone(registry) }

func Find(name string) (Guarantee, bool) {
	i := slices.IndexFunc(registry, func(g Guarantee) bool { return g.Name == name })
	if i < 0 {
		return Guarantee{}, false
	}
	return registry[i], true
}

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
	ExactlyOnce = "exactly-once"
	AtLeastOnce = "at-least-once"
	AtMostOnce  = "at-most-once"
)

// promisesOf returns the promises of the subject; all, if the history does not name its subject.
func promisesOf(h history.Header) history.Promises {
	if h.Recipe == "" {
		return history.Promises{Exclusive: true, FIFO: true, Delivery: ExactlyOnce, Deadline: true, Events: true}
	}
	return h.Promises
}

var (
	anyRecipe = []string{Lock, Election, Queue}
	granting  = []string{Lock, Election}
	queues    = []string{Queue}
)

// seen records which kinds of recipe the operations of a history belong to, if its header does not
// name one.
type seen struct {
	recipe        string // from the header
	grants, items bool
}

func (s *seen) record(n history.Numbered) {
	if s.recipe != "" {
		return
	}
	if sample, ok := n.Record.(*history.Sample); ok {
		switch sample.Op {
		case history.Acquire:
			s.grants = true
		case history.Put, history.Take:
			s.items = true
		}
	}
}

// concerned reports whether the guarantee applies to the subject's recipe, or to a recipe that was seen.
// A history without operations counts as a lock's, so that it is evaluated.
func (s *seen) concerned(g Guarantee) bool {
	if s.recipe != "" {
		return slices.Contains(g.Concerns, s.recipe)
	}
	return s.items && slices.Contains(g.Concerns, Queue) ||
		(s.grants || !s.items) && (slices.Contains(g.Concerns, Lock) || slices.Contains(g.Concerns, Election))
}
