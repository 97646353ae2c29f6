// Package chaos injects faults, proves that they took effect, and heals them.
//
// A [Fault] is injected into a [Target] and returns an [Effect]: the proof (a fault that cannot
// prove its effect makes a trial unknown) and a function that heals it. [Catalogue] lists the kinds
// of fault, and a [Plan] injects faults at their times.
//
//	network, err := chaos.NewNetwork(ctx, ensemble)
//	// ...
//	defer network.Close(context.WithoutCancel(ctx))
//	fault, err := chaos.Parse("partition.isolate", "leader", nil)
//	// ...
//	effect, err := fault.Inject(ctx, chaos.Target{Ensemble: ensemble, Network: network})
//	// ...
//	defer effect.Heal(context.WithoutCancel(ctx))
//	fmt.Println(effect.Target, effect.Proof)
//
// A new kind of fault is a new file with its [Kind], its requirements, its proof, and the function
// that injects it. A test next to it shows that the fault takes effect and heals. "zkbench help
// faults" describes how to add one.
package chaos

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// Target is the target of faults: the ensemble and the clients of the running trial.
type Target struct {
	Ensemble *ensembles.Ensemble
	Network  *Network // cuts members' networks; nil if not available
	// Clients are the taps of the trial's clients, by client number.
	Clients []wire.Client
	// Holder returns the client that holds the grant, or -1; with stay the client keeps the grant
	// until it is hit. Nil if clients cannot hold one (a queue): a fault that targets the holder
	// then hits any client.
	Holder func(stay bool) int
	// Next returns the client in line directly behind the holder, or -1. Nil if there is no line,
	// or it is unknown.
	Next func() int
	// Process returns the process of a client. The error tells why it cannot be stopped or killed.
	// Nil if no client has its own process.
	Process func(client int) (Process, error)
	// Random picks a number in [0, n) from the run's seed.
	Random func(n int) int
}

// Process is the process of one or several clients.
type Process interface {
	PID() int       // process ID, also the ID of its process group
	Clients() []int // the clients that it runs
	// Group returns the existing processes of the group, and the processes that the kernel reports as
	// stopped (GroupHere on this machine).
	Group() (all, stopped []int)
	Pause() error  // stops the group with SIGSTOP
	Resume() error // continues it with SIGCONT; may be called twice, and after its end
	Kill() error   // kills the group with SIGKILL, and returns when it has ended. Its clients have no process until Replace is called
	Replace()      // allows a new process when a client returns
}

// Effect is an active fault.
type Effect struct {
	Target string // the target, as text: "client 17 (holder)", "zk2 (leader)"
	Client int    // the client that was hit; -1 for members
	// Served are the clients whose session is on a member that was hit and that still answers them:
	// they cannot know that it is cut off from the other members, or slow. If a process was hit,
	// they are its other clients.
	Served []int
	Proof  string // the proof that the fault took effect
	// Undo removes the fault, without waiting for recovery. Nil if there is nothing to undo. May be
	// called twice.
	Undo func(ctx context.Context) error
	// Back waits, after Undo, until the target has recovered: a member until it serves again, which
	// may need other faults to be undone. Nil if nothing has to recover. May be called twice.
	Back func(ctx context.Context) error
}

// Heal undoes the fault and waits for recovery. May be called twice.
func (e Effect) Heal(ctx context.Context) error {
	for _, step := range []func(context.Context) error{e.Undo, e.Back} {
		if step == nil {
			continue
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Fault is a fault with its target and parameters.
type Fault interface {
	String() string // its name in the catalogue, "session.close"
	// Inject injects the fault and returns once the effect is proven. On an error it has undone all
	// that it could, and the effect tells which target it may have hit; it is zero for none. The
	// error wraps ErrSkipped if this machine does not support the fault, and ErrNoEffect if the
	// effect could not be proven.
	Inject(ctx context.Context, t Target) (Effect, error)
}

// ErrSkipped means that the fault is not available here; the trial's fault part is unknown.
var ErrSkipped = errors.New("skipped")

// ErrNoEffect means that the fault was injected and its effect could not be proven.
var ErrNoEffect = errors.New("no proven effect")

// untouched is an error of a fault that had no effect on its target.
type untouched struct{ error }

func (u untouched) Unwrap() error { return u.error }

// ErrNotHealed means that a fault may still be active.
var ErrNotHealed = errors.New("not healed")
