// Package chaos makes things go wrong, proves that they did, and heals them.
//
// A [Fault] is injected into a [Target] and returns an [Effect]: the proof (a fault
// that cannot prove its effect makes a trial unknown) and the way back. [Catalogue]
// lists the kinds of fault, and a [Plan] injects faults at their times.
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
// A new kind of fault is a new file: its [Kind], with what it needs and what proves it, and
// the function that injects it. A test beside the file shows that the fault takes effect
// and heals. The page "zkbench help faults" adds one.
package chaos

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// Target is what faults act on: the ensemble, and the clients of the running trial.
type Target struct {
	Ensemble *ensembles.Ensemble
	Network  *Network // cuts members' networks; nil where nobody can
	// Clients are the taps of the trial's clients, by client number.
	Clients []wire.Client
	// Holder returns the client that holds the grant, or -1, and with stay has it hold
	// until it is hit. Nil where no client can hold one: a queue. A fault that targets the
	// holder then hits any client.
	Holder func(stay bool) int
	// Next returns the client that stands in line right behind the holder, or -1. Nil where
	// nobody stands in line, or nobody knows who does.
	Next func() int
	// Process returns the process that a client lives in. The error says why there is none
	// that can be stopped or killed. Nil where no client is a process of its own.
	Process func(client int) (Process, error)
	// Random picks a number in [0, n) from the run's seed.
	Random func(n int) int
}

// Process is the process of one or several clients.
type Process interface {
	PID() int       // its own, and that of the group that it and all that it has started are in
	Clients() []int // that live in it
	// Group returns the processes of the group that are there, and those of them that are
	// stopped, by the kernel's word (GroupHere, where it is on this machine).
	Group() (all, stopped []int)
	Pause() error  // stops the group: SIGSTOP
	Resume() error // lets it go on: SIGCONT. Safe to call twice, and after its end
	Kill() error   // ends the group, SIGKILL, and returns when it is gone. Its clients have no process until Replace is called
	Replace()      // lets another process take its place, when a client comes back
}

// Effect is a fault in force.
type Effect struct {
	Target string // what was hit, for people: "client 17 (holder)", "zk2 (leader)"
	Client int    // the client that was hit; -1 for members
	// Served are the clients that had their session on a member that was hit, and that
	// it still answers: they cannot know that it is cut off from the other members, or slow.
	// Of a process that was hit they are the other clients in it.
	Served []int
	Proof  string // what proved that the fault took effect
	// Undo removes the fault, and waits for nothing else. Nil when there is nothing to
	// undo. Safe to call twice.
	Undo func(ctx context.Context) error
	// Back returns after Undo when what was hit is back: a member, when it serves again.
	// It may have to wait until other faults are undone as well. Nil when nothing has to
	// come back. Safe to call twice.
	Back func(ctx context.Context) error
}

// Heal undoes the fault, and returns when what was hit is back. Safe to call twice.
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

// Fault is one thing that can go wrong.
type Fault interface {
	String() string // its name in the catalogue, "session.close"
	// Inject makes it go wrong and returns once the effect is proven. When it returns an
	// error, it has undone all that it could, and the effect says whom it may have hit; it is zero
	// where that is nobody. The error wraps ErrSkipped where this machine
	// cannot have the fault, and ErrNoEffect where the effect could not be proven.
	Inject(ctx context.Context, t Target) (Effect, error)
}

// ErrSkipped says that the fault cannot be had here; the trial's fault part is unknown.
var ErrSkipped = errors.New("skipped")

// ErrNoEffect says that the fault was injected and its effect could not be proven.
var ErrNoEffect = errors.New("no proven effect")

// untouched is an error of a fault that has touched nothing.
type untouched struct{ error }

func (u untouched) Unwrap() error { return u.error }

// ErrNotHealed says that a fault may still be in force.
var ErrNotHealed = errors.New("not healed")
