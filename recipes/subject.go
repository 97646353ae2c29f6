package recipes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// Subject is one implementation of a recipe under test: ours, someone else's, or a
// deliberately broken one. It is all that the lab knows of it, and small enough to
// be spoken over a pipe to another process.
type Subject struct {
	Name    string  // "lock/parent": the recipe, a slash, what distinguishes it
	About   string  // one line: what it does and what it promises
	Variant Variant // whom its waiters watch; "" if neither
	// Open makes one client of the subject, with a session of its own, and returns
	// when the session stands. The client is a Contender or a QueueClient.
	Open func(ctx context.Context, env Env) (Client, error)
	// Drain is the formula for what the first k hand-offs cost when n contenders
	// drain (see DrainCost). Nil where there is none.
	Drain func(n, k int) Cost
}

// Recipe returns the part of the name before the slash: "lock", "election", "queue".
func (s Subject) Recipe() string {
	for i, r := range s.Name {
		if r == '/' {
			return s.Name[:i]
		}
	}
	return s.Name
}

// Env is what a client of a subject needs to know of the world.
type Env struct {
	Servers   []string      // host:port, in the order in which to try them
	Parent    string        // path of the contested node, or of the queue; may not exist yet
	Timeout   time.Duration // session timeout to ask for
	Dial      zk.Dialer     // every connection must be made through it
	MaxPacket int           // bytes: room for the longest list of names or item
	// Events must be called at the very instant at which the client learns that its
	// grant is in doubt, good again, or gone. It returns at once.
	Events func(Event)
}

// EventKind is what a client learns about its grant.
type EventKind string

// The kinds of event. A client whose connection drops reports Suspended; Restored
// follows only for the same session, and only after the client has checked that it
// still owns its node. Lost is final for the grant.
const (
	EventSuspended EventKind = "suspended"
	EventRestored  EventKind = "restored"
	EventLost      EventKind = "lost"
)

// Event tells what a client has learned about the grant with that token.
type Event struct {
	Kind  EventKind
	Token int64
	// At is when the client learned it, on the monotonic clock, if that was before
	// Events was called, as with news from another process. Zero means the call.
	At time.Time
}

// Client is one contender, producer or consumer.
type Client interface {
	// Close ends the client's session in good order.
	Close(ctx context.Context) error
}

// Claim is a grant as a client tells it to the lab.
type Claim struct {
	Token   int64  // czxid of the node
	Session int64  // id of the session that the claim is bound to
	Path    string // of the node
	// At is when the grant was had, if that was before Acquire returned: what the
	// adapter of a foreign recipe does afterwards is not the recipe's time. Zero
	// means when Acquire returned.
	At time.Time
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
	// Take waits for an item and removes it.
	Take(ctx context.Context) ([]byte, error)
}

var subjects []Subject

// Register adds a subject, for instance from a test or another package. It panics
// if the name is taken: that is a mistake in the program.
func Register(s Subject) {
	if _, err := Find(s.Name); err == nil {
		panic(fmt.Sprintf("recipes: subject %q is registered twice", s.Name))
	}
	subjects = append(subjects, s)
}

// Subjects returns all registered subjects, ordered by name.
func Subjects() []Subject {
	out := slices.Clone(subjects)
	slices.SortFunc(out, func(a, b Subject) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// Find returns the subject with that name.
func Find(name string) (Subject, error) {
	for _, s := range subjects {
		if s.Name == name {
			return s, nil
		}
	}
	return Subject{}, fmt.Errorf("no subject is called %q", name)
}
