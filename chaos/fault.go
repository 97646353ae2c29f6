// Package chaos injects faults, proves that they took effect, and heals them.
//
// A [Fault] is injected into a [Target] and returns an [Effect]: the proof (a fault that cannot
// prove its effect makes a trial unknown) and a function that heals it. [Catalogue] lists the kinds
// of fault, and a [Plan] injects faults at their times.
//
//	net, err := network.Open(ctx, ensemble)
//	// ...
//	defer net.Close(context.WithoutCancel(ctx))
//	fault, err := chaos.Parse("partition.isolate", "leader", nil)
//	// ...
//	effect, err := fault.Inject(ctx, chaos.Target{Ensemble: ensemble, Network: net})
//	// ...
//	defer effect.Heal(context.WithoutCancel(ctx))
//	fmt.Println(effect.Target, effect.Proof)
//
// "zkbench help faults" describes how to add a fault.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// Target is the target of faults: the ensemble and the clients of the running trial.
type Target struct {
	Ensemble *ensembles.Ensemble
	Network  *network.Network // cuts members' networks; nil if not available
	// Addresses are those at which clients reach the members; nil if they cannot change.
	Addresses *wire.Addresses
	// Clients are the taps of the trial's clients, by client number.
	Clients []wire.Client
	// Holder returns the number of the client that holds the grant, or -1; with stay the client keeps
	// the grant until the fault hits it. Nil if clients hold no grants (a queue): a fault that targets
	// the holder then hits any client.
	Holder func(stay bool) int
	// Holds reports whether a client holds a grant. Nil if only one client can at a time.
	Holds func(client int) bool
	// Next returns the number of the client directly behind the holder in line, or -1. Nil if there is
	// no line, or its order is unknown.
	Next func() int
	// MaxExpiries is the number of sessions that may expire in sequence before a client holds the grant; 0 means 1.
	MaxExpiries int
	// Process returns the process of a client, or an error if the process cannot be stopped or killed.
	// Nil if no client has its own process.
	Process func(client int) (Process, error)
	// Random picks a number in [0, n) from the run's seed.
	Random func(n int) int
}

type Process interface {
	PID() int       // process ID, also the ID of its process group
	Clients() []int // the numbers of the clients that the process runs
	// Group returns the existing processes of the group, and the processes that the kernel reports as
	// stopped (GroupHere on this machine).
	Group() (all, stopped []int)
	Pause() error  // stops the group with SIGSTOP
	Resume() error // continues the group with SIGCONT; may be called twice, and after the group has ended
	Kill() error   // kills the group with SIGKILL, and returns when it has ended. Its clients have no process until Replace is called
	// Replace allows a new process when a client returns. If as is not empty, it names the new process's subject.
	Replace(as string) error
}

// Effect is an active fault.
type Effect struct {
	Target string // the target, as text: "client 17 (holder)", "zk2 (leader)"
	Client int    // the client that was hit; -1 for members
	// ServedClients lists the clients whose session is on a member that was hit but still answers them: they
	// cannot know that the member is slow or cut off from the other members. If a process was hit,
	// ServedClients lists its other clients.
	ServedClients []int
	Proof         string // the proof that the fault took effect
	// Undo removes the fault, without waiting for recovery. Nil if there is nothing to undo. May be
	// called twice.
	Undo func(ctx context.Context) error
	// AwaitRecovery waits, after Undo, until the target has recovered: a member until it serves again, which
	// may need other faults to be undone. Nil if nothing has to recover. May be called twice.
	AwaitRecovery func(ctx context.Context) error
}

// Heal undoes the fault and waits for recovery. May be called twice.
func (e Effect) Heal(ctx context.Context) error {
	for _, step := range []func(context.Context) error{e.Undo, e.AwaitRecovery} {
		if step == nil {
			continue
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type Fault interface {
	String() string // its name in the catalogue, "session.close"
	// Inject injects the fault and returns once the effect is proven. On an error it has undone as much
	// as possible, and the effect names the target that it may have hit; the zero Effect means that it
	// hit none. The error wraps ErrSkipped if this machine does not support the fault, and ErrNoEffect
	// if the effect could not be proven.
	Inject(ctx context.Context, t Target) (Effect, error)
}

// ErrSkipped means that the fault is not available here; the trial's fault part is unknown.
var ErrSkipped = network.ErrSkipped

// ErrNoEffect means that the fault was injected and its effect could not be proven.
var ErrNoEffect = network.ErrNoEffect

// untouchedError is an error of a fault that had no effect on its target.
type untouchedError struct{ error }

func (u untouchedError) Unwrap() error { return u.error }

// ErrNotHealed means that a fault may still be active.
var ErrNotHealed = errors.New("not healed")

// Events are named moments of a trial that a plan can wait for. The zero value is ready for use; nil never fires.
type Events struct{ named sync.Map } // to event

type event struct {
	context.Context // done once the event has fired
	fire            context.CancelFunc
}

// Fire fires the event. Later calls for the same event have no effect.
func (e *Events) Fire(name string) { e.event(name).fire() }

func (e *Events) event(name string) event {
	ctx, fire := context.WithCancel(context.Background())
	v, _ := e.named.LoadOrStore(name, event{ctx, fire})
	return v.(event)
}

func (e *Events) wait(ctx context.Context, name string) bool {
	if name == "" {
		return true
	}
	var fired <-chan struct{} // nil: never ready
	if e != nil {
		fired = e.event(name).Done()
	}
	select {
	case <-ctx.Done():
		return false
	case <-fired:
		return true
	}
}

// settings holds a fault's parameters with defaults, and collects parse errors for err.
type settings struct {
	values map[string]string
	errs   *[]error
}

func (k Kind) settings(given map[string]string) (settings, error) {
	s := settings{values: map[string]string{}, errs: new([]error)}
	known := texts(k.Params, func(p Param) string { return p.Name })
	for _, p := range k.Params {
		s.values[p.Name] = p.Default
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return s, &UnknownError{fmt.Sprintf("%q is not a parameter of this fault", name), name, known}
		}
		s.values[name] = given[name]
	}
	return s, nil
}

func (s settings) err() error { return errors.Join(*s.errs...) }

func (s settings) bad(name, format string, args ...any) {
	*s.errs = append(*s.errs, fmt.Errorf("parameter %s: %q %s", name, s.values[name], fmt.Sprintf(format, args...)))
}

func (s settings) unknown(name, problem string, known []string) {
	value := s.values[name]
	*s.errs = append(*s.errs, &UnknownError{fmt.Sprintf("parameter %s: %q %s", name, value, problem), value, known})
}

func (s settings) duration(name string) time.Duration {
	d, err := time.ParseDuration(s.values[name])
	if err != nil || d < 0 {
		s.bad(name, "is not a duration such as 200ms or 1.5s")
	}
	return d
}

func (s settings) number(name string, least, most int) int {
	n, err := strconv.Atoi(s.values[name])
	if err != nil || n < least || n > most {
		s.bad(name, "is not a whole number from %d to %d", least, most)
	}
	return n
}

func (s settings) percent(name string) float64 {
	x, err := strconv.ParseFloat(s.values[name], 64)
	if err != nil || !(x >= 0.01 && x <= 100) { // the packet filter cannot drop a smaller share
		s.bad(name, "is not a number from 0.01 to 100")
	}
	return x
}

func (s settings) boolean(name string) bool {
	b, err := strconv.ParseBool(s.values[name])
	if err != nil {
		s.bad(name, "is neither true nor false")
	}
	return b
}

func (s settings) choice(name string, words ...string) string {
	if !slices.Contains(words, s.values[name]) {
		s.bad(name, "is not one of %s", strings.Join(words, ", "))
	}
	return s.values[name]
}
