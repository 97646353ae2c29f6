package chaos

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles/state"
)

// needsDriver is the need of faults that act on a client's process.
var needsDriver = need{about: "a client that is a process of its own: a driver (zkbench help drivers), on Linux", missing: func(Abilities) error {
	if runtime.GOOS != "linux" {
		return errors.New("processes are stopped on Linux only")
	}
	return nil
}, process: true}

// TouchesProcesses reports whether the fault with that name acts on the process of a client, which
// only a driver has.
func TouchesProcesses(name string) bool {
	k, err := find(name)
	return err == nil && slices.ContainsFunc(k.needs, func(n need) bool { return n.process })
}

// errNoProcess means that clients have no processes of their own.
var errNoProcess = fmt.Errorf("%w: the clients are no processes of their own: a signal would hit zkbench itself; run the subject as a driver (zkbench help drivers)", ErrSkipped)

// onProcess makes a fault that hits the process of the client described by target, with all other
// clients in it.
func onProcess(who string, inject func(context.Context, Target, wire.Client, Process) (Effect, error)) injector {
	one := onClient(who, func(ctx context.Context, t Target, c wire.Client) (Effect, error) {
		if t.Process == nil {
			return Effect{}, untouched{errNoProcess}
		}
		n := slices.Index(t.Clients, c)
		p, err := t.Process(n)
		if err != nil {
			return Effect{}, untouched{err}
		}
		e, err := inject(ctx, t, c, p)
		e.Served = slices.DeleteFunc(p.Clients(), func(o int) bool { return o == n })
		return e, err
	})
	return func(ctx context.Context, t Target) (Effect, error) {
		e, err := one(ctx, t)
		if err == nil && len(e.Served) > 0 {
			e.Target += ", and in the same process " + clientList(e.Served)
		}
		return e, err
	}
}

// clientList returns client numbers as text.
func clientList(numbers []int) string {
	const most = 5
	var names []string
	for i, n := range numbers {
		if i == most {
			return fmt.Sprintf("clients %s and %d more", strings.Join(names, ", "), len(numbers)-most)
		}
		names = append(names, fmt.Sprint(n))
	}
	return "clients " + strings.Join(names, ", ")
}

// signalLimit bounds the wait for a signal to take effect: usually milliseconds, but a process
// stops only after a disk write in progress.
const signalLimit = 10 * time.Second

// GroupHere returns the existing processes of a group on this machine, and the ones whose threads are
// all stopped.
func GroupHere(id int) (all, stopped []int) {
	for _, p := range state.Group(id) {
		all = append(all, p.PID)
		if p.Stopped() {
			stopped = append(stopped, p.PID)
		}
	}
	return all, stopped
}

// killed kills a process and returns the proof.
func killed(ctx context.Context, p Process) (proof string, err error) {
	here, _ := p.Group()
	if len(here) == 0 {
		return "", fmt.Errorf("%w: process %d had ended before", ErrNoEffect, p.PID())
	}
	if err := p.Kill(); err != nil {
		return "", err
	}
	err = poll(ctx, signalLimit, func(context.Context) error {
		if left, _ := p.Group(); len(left) > 0 {
			return fmt.Errorf("%w: process %d is still there after SIGKILL", ErrNoEffect, left[0])
		}
		return nil
	})
	return fmt.Sprintf("SIGKILL, and process %d was gone (%d in its group)", p.PID(), len(here)), err
}
