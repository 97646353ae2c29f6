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

// Guarantee is something that a recipe promises, or that a trial needs. Each has a
// file of its own, which registers it.
type Guarantee struct {
	Name     string
	Rule     int      // the number in the safety definitions
	Concerns []string // the kinds of recipe that it is about
	Promise  string   // what holds, for a reader who knows ZooKeeper
	Harm     string   // what comes of it when it is broken
	Help     string   // what breaks it, in a line

	// promised says whether a subject with these promises promises it; nil: every one does.
	promised func(p history.Promises) bool
	// check returns a checker of one history, of which no record was read yet.
	check func(in *inputs) checker
}

// checker judges one guarantee in one history. All but finish may be nil.
type checker struct {
	record func(n history.Numbered) // every record, in order
	belief func(b Belief)           // every belief, in the order of its start
	rest   func(b Belief)           // where the history is cut short, the beliefs still to come whose ends it has
	commit func(r history.Record)   // every commit and their end, each before the first record of a client that may know of it
	// finish returns the verdict.
	finish func(end ending) Verdict
}

// ending is where a history ends.
type ending struct {
	at time.Duration // the latest instant in it
	// cut: the rest could not be read. What has no record by then may have one there: an
	// operation is recorded when it returns. What follows from nothing but that proves nothing.
	cut bool
}

// inputs are what a checker may ask for besides records and beliefs.
type inputs struct {
	history  *history.History
	promises history.Promises
	overlap  func(Overlap)
	items    *items  // of a queue
	line     *line   // by the commits; nil where there are none
	grants   *grants // looked up in them; nil likewise
}

var registry []Guarantee

// register adds a guarantee to the registry, which stays in the order of the rules.
func register(g Guarantee) {
	registry = append(registry, g)
	slices.SortFunc(registry, func(a, b Guarantee) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Name, b.Name))
	})
}

// All returns the guarantees in the order of their rules, which is that of the
// verdicts of a history.
func All() []Guarantee { return slices.Clone(registry) }

// Find returns the guarantee of that name.
func Find(name string) (Guarantee, bool) {
	i := slices.IndexFunc(registry, func(g Guarantee) bool { return g.Name == name })
	if i < 0 {
		return Guarantee{}, false
	}
	return registry[i], true
}

// Names returns the names of all guarantees.
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

// What a queue promises of each item, as history.Promises.Delivery.
const (
	ExactlyOnce = "exactly-once"
	AtLeastOnce = "at-least-once"
	AtMostOnce  = "at-most-once"
)

// promisesOf are the promises of the subject; those of a history that does not say what
// the subject is are all that there are.
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

// seen says which kinds of recipe the operations of a history are of, where its header
// does not.
type seen struct {
	recipe        string // by the header
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

// concerned says whether the guarantee is about the subject's recipe, or about one that
// was seen. A history without any operation counts as a lock's, so that emptiness is not
// skipped over.
func (s *seen) concerned(g Guarantee) bool {
	if s.recipe != "" {
		return slices.Contains(g.Concerns, s.recipe)
	}
	return s.items && slices.Contains(g.Concerns, Queue) ||
		(s.grants || !s.items) && (slices.Contains(g.Concerns, Lock) || slices.Contains(g.Concerns, Election))
}
