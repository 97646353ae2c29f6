package recipes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Recipe is what a subject implements.
type Recipe string

// The recipes. The clients of a lock or an election are Contenders, those of a queue
// are QueueClients.
const (
	RecipeLock     Recipe = "lock"
	RecipeElection Recipe = "election"
	RecipeQueue    Recipe = "queue"
)

// Variant says whom a waiter watches.
type Variant string

// The variants. With Parent every waiter watches the parent's children, so every
// release wakes everyone: the herd. With Predecessor each watches the node right
// before its own, so a release wakes one.
const (
	Parent      Variant = "parent"
	Predecessor Variant = "predecessor"
	Polling     Variant = "polling" // it watches nobody, and asks again and again
)

// Delivery is how often a queue hands out an item.
type Delivery string

// What a queue can promise. An item whose take has an unknown outcome may be handed
// out or not under any of them.
const (
	ExactlyOnce Delivery = "exactly-once"
	AtLeastOnce Delivery = "at-least-once"
	AtMostOnce  Delivery = "at-most-once"
)

// Promises are what a subject promises its users.
type Promises struct {
	Exclusive bool     // one holder or leader at a time
	FIFO      bool     // grants in the order of the waiters' nodes; items in the order of their puts
	Delivery  Delivery // of a queue; "" if it promises none
	Requeues  bool     // a client that has released stands in line again by itself
	Deadline  bool     // a holder stops by itself when its session may have expired
	Events    bool     // a holder is told by Env.Events that its grant is suspended, restored or lost
}

// Subject is one implementation of a recipe under test: ours, someone else's, or one
// that is broken on purpose.
type Subject struct {
	Name     string // unique, like "lock/parent"
	About    string // one line: what it does and what it promises
	Recipe   Recipe
	Variant  Variant // "" if its waiters watch neither the parent nor their predecessor
	Promises Promises
	Formulas Formulas
	// Line is the child of a queue's node below which every waiting consumer has a node
	// of its own; "" if they have none. Contenders have theirs below the parent itself.
	Line string
	// Pipe returns how long a request and its answer take, p50 and p99 of so many, between the harness
	// and a subject that is another process; nil within one.
	Pipe func() (p50, p99 time.Duration, of int)
	// Writes says that its clients are Workers, Tells that they are Tellers, and Tries that they
	// are Triers.
	Writes, Tells, Tries bool
	// NoCancel says that Acquire and Take cannot be called off: they go on when the context
	// has ended, and return ErrUnfinished meanwhile.
	NoCancel bool
	// Open makes one client of the subject, with a session of its own, and returns
	// when the session stands. The client is a Contender or a QueueClient.
	Open func(ctx context.Context, env Env) (Client, error)
	// Missing says what has to be installed before the subject can be opened; nil, as the
	// function or as what it returns, is nothing.
	Missing func() error
	// Start makes the subject ready for one trial, and returns it as it is then, with an
	// Open; nil where it is ready as it is. stop ends what was started, also after an
	// error. A driver (package driver/host) starts its processes, which say what it is.
	Start func(ctx context.Context, t Trial) (s Subject, stop func(), err error)
}

// Trial is what Start needs to know.
type Trial struct {
	Clients int    // clients that will be opened; there may be some more
	Stderr  string // files for what processes print begin with it; "" is nowhere
	Owner   string // names this process for ever; what is started carries it, so that a sweep finds it
	// Alone says which clients must not share a process with others; nil: all may.
	Alone func(client int) bool
	// Site is the machine on which a client is to live, from its opening on; nil: this one for
	// all.
	Site func(client int) (site.Site, error)
	// Kept is what is kept for the next trial of the run; nil keeps nothing.
	Kept *Kept
	// Fail is called, from any goroutine, when the subject breaks a rule of its protocol,
	// so that the trial cannot be judged. It returns at once.
	Fail func(error)
}

// Env is what a client of a subject needs to know.
type Env struct {
	Servers   []string      // host:port, in the order in which to try them
	Parent    string        // path of the lock, election or queue; may not exist yet
	Timeout   time.Duration // session timeout to ask for
	Dial      zk.Dialer     // every connection must be made through it
	MaxPacket int           // bytes: room for the longest list of names, and for an item
	Auth      []Auth        // with which every connection must authenticate; nil: with nothing
	ACL       []zk.ACL      // that every node must be created with; nil: open to all
	// Events must be called at the instant at which the client learns that its grant is
	// suspended, restored or lost. It returns at once.
	Events func(Event)

	// For a client that is another process:
	Client   int                      // its number in the trial
	Connect  func() ([]string, error) // the servers as listeners in front of Dial
	Resource string                   // path of a node to which a holder may write, as its work
	Requests func() int64             // number of requests that the client has sent so far, keep-alive and authentication aside; may be nil
	Seen     func() Claim             // what the wire shows of its session, and the newest node of that below Parent; nil: it says all itself
}

// EventKind is what a client learns about its grant.
type EventKind string

// The kinds of event. A client whose connection drops reports EventSuspended.
// EventRestored follows only for the same session, and only after the client has
// checked that it still owns its node. EventLost is final for the grant.
const (
	EventSuspended EventKind = "suspended"
	EventRestored  EventKind = "restored"
	EventLost      EventKind = "lost"
	EventEnded     EventKind = "ended" // the grant is over although the session lives: revoked, resigned
)

// Event is what a client has learned about the grant with that token.
type Event struct {
	Kind    EventKind
	Token   int64
	At      time.Time // when the client learned it; zero: when Env.Events is called
	Session int64     // of the grant; 0: the one that the client has on the wire
}

// Client is a client of a subject, with a session of its own.
type Client interface {
	// Close ends the client's session in good order.
	Close(ctx context.Context) error
}

// Claim is what a client says of its grant.
type Claim struct {
	Token   int64  // the fencing token: czxid of the node, or the subject's own number
	Own     bool   // the token is the subject's own number
	Session int64  // id of the session that owns the node
	Path    string // of the node
	// At is when the recipe's own call returned, if that was before Acquire returned:
	// what an adapter does afterwards is not the recipe's time. Zero means when Acquire
	// returned.
	At time.Time
}

// Timed is a client that knows when the recipe's own calls were made and returned: what
// lies between the harness and the recipe is not the recipe's time.
type Timed interface {
	// Times are those of the operation that returned last.
	Times() Times
}

// Times of an operation. Zero is when the client's method was called and returned.
type Times struct {
	Called, Returned time.Time
	Error            time.Duration // that both may have
}

// Worker is a client that can write to a node on its own session, as a holder does its
// work: with a plain setData, once, whatever has become of its grant.
type Worker interface {
	Write(ctx context.Context, path, value string) error
}

// Teller is a client that says, without asking the servers, whether it holds.
type Teller interface {
	Holds() bool
}

// Trier is a contender with a timed try of its own, beside a context that ends: the error wraps
// ErrNotAcquired when the limit has passed and it does not hold.
type Trier interface {
	AcquireWithin(ctx context.Context, limit time.Duration) (Claim, error)
}

// Contender is a client of a lock or an election.
type Contender interface {
	Client
	// Acquire returns when the lock is held, or the leadership won.
	Acquire(ctx context.Context) (Claim, error)
	// Release lets go of what the last Acquire returned. After a nil error the node
	// is certainly gone.
	Release(ctx context.Context) error
}

// QueueClient is a client of a queue.
type QueueClient interface {
	Client
	// Put appends an item. A nil error means that it is in the queue, once.
	Put(ctx context.Context, item []byte) error
	// Take waits for an item and removes it. An item beside an error for which
	// Indeterminate is true may have been removed.
	Take(ctx context.Context) ([]byte, error)
}

var subjects = map[string]Subject{}

// Register adds a subject. It panics if the name is taken or the recipe is none of
// the three.
func Register(s Subject) {
	if _, taken := subjects[s.Name]; taken {
		panic(fmt.Sprintf("recipes: subject %q is registered twice", s.Name))
	}
	if !slices.Contains([]Recipe{RecipeLock, RecipeElection, RecipeQueue}, s.Recipe) {
		panic(fmt.Sprintf("recipes: subject %q has recipe %q; there is lock, election, queue", s.Name, s.Recipe))
	}
	subjects[s.Name] = s
}

// Subjects returns all registered subjects, ordered by name.
func Subjects() []Subject {
	return slices.SortedFunc(maps.Values(subjects), func(a, b Subject) int { return cmp.Compare(a.Name, b.Name) })
}

// Find returns the subject with that name.
func Find(name string) (Subject, error) {
	s, found := subjects[name]
	if !found {
		return Subject{}, fmt.Errorf("no subject is called %q", name)
	}
	return s, nil
}
