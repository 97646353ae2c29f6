package recipes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Recipe is the kind of recipe of a subject.
type Recipe string

// The recipes. The clients of a queue are QueueClients, all others are Contenders.
const (
	RecipeLock      Recipe = "lock"
	RecipeElection  Recipe = "election"
	RecipeQueue     Recipe = "queue"
	RecipeRWLock    Recipe = "rwlock"    // a read-write lock; its clients are OptionContenders
	RecipeSemaphore Recipe = "semaphore" // a client holds at most one permit
	RecipeBarrier   Recipe = "barrier"   // a double barrier: Acquire enters it, Release leaves it
)

var Recipes = []Recipe{RecipeLock, RecipeElection, RecipeQueue, RecipeRWLock, RecipeSemaphore, RecipeBarrier}

// Mode is the mode in which a client acquires a read-write lock: several readers or one writer can hold it.
type Mode string

const (
	Read  Mode = "read"
	Write Mode = "write"
)

// Variant identifies the nodes that a waiter watches.
type Variant string

// The variants. With Parent every waiter watches the parent's children, so every release notifies all waiters (the
// herd effect). With Predecessor each waiter watches the node directly before its own, so a release notifies one.
const (
	Parent      Variant = "parent"
	Predecessor Variant = "predecessor"
	Polling     Variant = "polling" // a waiter watches nothing, and reads repeatedly
)

// Delivery is the number of times that a queue hands out an item.
type Delivery string

// Delivery promises of a queue. An item whose take has an unknown outcome may or may not be handed
// out under any of them.
const (
	ExactlyOnce Delivery = "exactly-once"
	AtLeastOnce Delivery = "at-least-once"
	AtMostOnce  Delivery = "at-most-once"
)

// Promises are the properties that a subject promises to its users.
type Promises struct {
	Exclusive bool // at most one holder or leader at a time, or several readers; as many holders as a semaphore has permits; no client passes a barrier early
	FIFO      bool // grants in the order of the waiters' nodes; items in the order of their puts
	Delivery  Delivery
	Requeues  bool // a client that has released joins the line again by itself
	Rejoins   bool // drivers only: a client that lost its session opens a new one by itself, and can acquire again
	Writers   bool // readers do not starve a writer; follows from FIFO
	Deadline  bool // a holder stops by itself when its session may have expired
	Events    bool // a holder is notified by Env.Events that its grant is suspended, restored or lost
}

// Subject is an implementation of a recipe under test.
type Subject struct {
	Name     string // unique, such as "lock/parent"
	About    string // one line: description and promises
	Recipe   Recipe
	Variant  Variant // "" if none of the constants applies
	Promises Promises
	Formulas Formulas
	// FormulasOf returns the formulas of a semaphore with that number of permits; nil for other recipes.
	FormulasOf func(permits int) Formulas
	// LineNode is the name of the child of a queue's node below which each waiting consumer has a node; "" if
	// consumers have no nodes. Contenders wait below the parent itself.
	LineNode string
	// PipeLatency returns p50 and p99 of the round trips between zkbench and a subject in another process,
	// and their number; nil for a subject in this process.
	PipeLatency func() (p50, p99 time.Duration, of int)
	// Writes means that the clients are Workers, ReportsHeld that they are HeldReporters, and SupportsLimit
	// that they are OptionContenders that support Limit.
	Writes, ReportsHeld, SupportsLimit bool
	// NoCancel means that Acquire and Take cannot be cancelled: they continue when the context has
	// ended, and return ErrUnfinished.
	NoCancel bool
	// Open opens one client of the subject, with a session of its own, and returns when the session
	// is open. The client is a Contender or a QueueClient.
	Open func(ctx context.Context, env Env) (Client, error)
	// Version returns the version of the subject's library, or "" if unknown; nil for our own.
	Version func() string
	// Missing returns an error that names the packages to install before the subject can be opened.
	// The function or its result may be nil.
	Missing func() error
	// Start prepares the subject for one trial. It returns the subject with Open set, and stop, which stops the
	// processes that it started and must be called even after an error. Start is nil if no preparation is needed.
	// For a driver (package driver/host), Start starts its processes and reads the driver's own description.
	Start func(ctx context.Context, t Trial) (s Subject, stop func(), err error)
}

// Trial is the input of Start.
type Trial struct {
	Clients int    // expected number of clients; a trial may open a few more
	Stderr  string // prefix of files for the output of processes; "" discards it
	Owner   string // identifies this process in the environment of its children, so that a sweep finds them
	// NeedsOwnProcess reports which clients must not share a process with others; nil: all may.
	NeedsOwnProcess func(client int) bool
	// Site returns the machine of a client, from its opening on; nil: this one for all.
	Site func(client int) (site.Site, error)
	// Pool holds processes for the next trials of the run, as a *host.Pool; nil: none are kept.
	Pool io.Closer
	// Fail is called, from any goroutine, when the subject breaks a rule of its protocol, so that
	// the trial cannot be evaluated. It returns at once.
	Fail func(error)
}

// Env is the input of a subject's client.
type Env struct {
	Servers   []string      // host:port, in the order in which to try them
	Parent    string        // path of the lock, election or queue; may not exist yet
	Permits   int           // of a semaphore; the same for all clients of a trial
	Parties   int           // of a barrier: number of clients that pass it together
	Timeout   time.Duration // requested session timeout
	Dial      zk.Dialer     // every connection must be made with it
	MaxPacket int           // in bytes; enough for the longest list of names and for an item
	Auth      []Auth        // credentials of every connection; nil: none
	ACL       []zk.ACL      // for every node that is created; nil: open access
	// Events must be called at the instant at which the client is notified that its grant is
	// suspended, restored or lost. It returns at once.
	Events func(Event)

	// For a client in another process:
	Client   int                      // its number in the trial
	Connect  func() ([]string, error) // addresses of listeners that forward to the servers by Dial
	Resource string                   // path of the node to which a holder writes as its work
	// LastOutageEnd returns the end of the last injected outage in the trial: the zero time if there was
	// none, and the present time during an outage. It may be nil.
	LastOutageEnd func() time.Time
	Requests      func() int64 // number of requests that the client has sent so far, without pings and authentication; may be nil
	Seen          func() Claim // session and newest node below Parent, from the tap; nil: the client reports both itself
}

// EventKind is the type of an event of a client's grant.
type EventKind string

// The types of event. A client whose connection drops reports EventSuspended. EventRestored follows
// only for the same session, and only after the client has checked that it still owns its node.
// EventLost is final for the grant.
const (
	EventSuspended EventKind = "suspended"
	EventRestored  EventKind = "restored"
	EventLost      EventKind = "lost"
	EventEnded     EventKind = "ended"  // the grant has ended although the session lives: revoked, resigned
	EventClosed    EventKind = "closed" // zkbench closes the client during its operation, which cannot be cancelled
)

// Event is an event of the grant with the token Token.
type Event struct {
	Kind    EventKind
	Token   int64
	At      time.Time // when the client was notified; zero: when Env.Events is called
	Session int64     // of the grant; 0: the current session on the connection
}

// Client is a client of a subject: a [Contender] or a [QueueClient].
type Client interface {
	// Close ends the client's session gracefully.
	Close(ctx context.Context) error
}

// Claim is a client's description of its grant.
type Claim struct {
	Token   int64 // the fencing token: czxid of the node, or the subject's own number
	Own     bool  // the token is the subject's own number
	Session int64 // ID of the session that owns the node
	Path    string
	// At is the time at which the recipe's own call returned, before the adapter's own work. Zero means
	// the time at which Acquire returned.
	At time.Time
}

// Timed is a client that knows the times at which the recipe's own calls were made and returned: the time
// between zkbench and the recipe does not count for the recipe.
type Timed interface {
	// Times returns the times of the operation that returned last.
	Times() Times
}

// Times are the times of an operation. Zero means the time of the call or return of the client's method.
type Times struct {
	Called, Returned time.Time
	Error            time.Duration // bound of the error of both
}

// Worker is a client that can write to a node, as the work of a holder: with one plain setData on its own
// session, regardless of the state of its grant.
type Worker interface {
	Write(ctx context.Context, path, value string) error
}

// HeldReporter is a client that reports, without a request to the servers, whether it holds.
type HeldReporter interface {
	Holds() bool
}

// AcquireOptions are the options of one acquire.
type AcquireOptions struct {
	Mode Mode // of a read-write lock
	// Limit is the time limit of the recipe's own acquire, in addition to a context: if it passes and the
	// client does not hold, the error wraps ErrNotAcquired. nil: no limit; 0: at once or not at all.
	Limit *time.Duration
}

// OptionContender is a Contender whose acquires have options.
type OptionContender interface {
	Contender
	AcquireWith(ctx context.Context, o AcquireOptions) (Claim, error)
}

// Contender is a client of a lock, read-write lock, semaphore, election or barrier.
type Contender interface {
	Client
	// Acquire returns when the lock is held, the leadership won, or the barrier passed.
	Acquire(ctx context.Context) (Claim, error)
	// Release releases the grant of the last Acquire. After a nil error the node is certainly
	// deleted. Of a barrier it returns when all have left.
	Release(ctx context.Context) error
}

// QueueClient is a client of a queue.
type QueueClient interface {
	Client
	// Put appends an item. A nil error means that it is in the queue, once.
	Put(ctx context.Context, item []byte) error
	// Take waits for an item and removes it. An item with an error for which Indeterminate is true
	// may have been removed.
	Take(ctx context.Context) ([]byte, error)
}

var subjects = map[string]Subject{}

// Register adds a subject. It panics if the name is taken or the recipe is unknown.
func Register(s Subject) {
	if _, taken := subjects[s.Name]; taken {
		panic(fmt.Sprintf("recipes: subject %q is registered twice", s.Name))
	}
	if !slices.Contains(Recipes, s.Recipe) {
		panic(fmt.Sprintf("recipes: subject %q has recipe %q; the recipes are %v", s.Name, s.Recipe, Recipes))
	}
	subjects[s.Name] = s
}

// Subjects returns all registered subjects, ordered by name.
func Subjects() []Subject {
	return slices.SortedFunc(maps.Values(subjects), func(a, b Subject) int { return cmp.Compare(a.Name, b.Name) })
}

// Find returns the registered subject with that name.
func Find(name string) (Subject, error) {
	if s, found := subjects[name]; found {
		return s, nil
	}
	return Subject{}, fmt.Errorf("subject %q does not exist", name)
}
