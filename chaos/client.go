package chaos

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles/state"
)

var needsDriver = need{about: "a client that runs in its own process, as a driver does (zkbench help drivers), on Linux", checkMachine: func(Abilities) error {
	if runtime.GOOS != "linux" {
		return errors.New("faults that act on a client's process need Linux")
	}
	return nil
}, process: true}

// TouchesProcesses reports whether the fault with that name acts on a client's process, which only a driver has.
func TouchesProcesses(name string) bool {
	k, err := KindOf(name)
	return err == nil && slices.ContainsFunc(k.needs, func(n need) bool { return n.process })
}

var errNoProcess = fmt.Errorf("%w: the clients run inside zkbench, so a signal would stop zkbench itself: run the subject as a driver (zkbench help drivers)", ErrSkipped)

// processFault hits the process of a client, with all other clients in the process.
func processFault(inject func(context.Context, wire.Client, Process) (Effect, error)) clientFault {
	return func(ctx context.Context, t Target, c wire.Client) (Effect, error) {
		if t.Process == nil {
			return Effect{}, untouchedError{errNoProcess}
		}
		n := slices.Index(t.Clients, c)
		p, err := t.Process(n)
		if err != nil {
			return Effect{}, untouchedError{err}
		}
		e, err := inject(ctx, c, p)
		e.ServedClients = slices.DeleteFunc(p.Clients(), func(o int) bool { return o == n })
		return e, err
	}
}

func clientList(numbers []int) string {
	const most = 5
	names := texts(numbers, strconv.Itoa)
	if len(names) > most {
		return fmt.Sprintf("clients %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "clients " + strings.Join(names, ", ")
}

// signalLimit bounds the wait for a signal: milliseconds, but a process stops only after a disk write in progress.
const signalLimit = 10 * time.Second

// GroupHere returns the existing processes of a group on this machine, and those whose threads are all stopped.
func GroupHere(id int) (all, stopped []int) {
	for _, p := range state.Group(id) {
		all = append(all, p.PID)
		if p.Stopped() {
			stopped = append(stopped, p.PID)
		}
	}
	return all, stopped
}

func killAndConfirm(ctx context.Context, p Process) (proof string, err error) {
	group, _ := p.Group()
	if len(group) == 0 {
		return "", fmt.Errorf("%w: process %d had already ended", ErrNoEffect, p.PID())
	}
	if err := p.Kill(); err != nil {
		return "", err
	}
	err = poll(ctx, signalLimit, func(context.Context) error {
		if left, _ := p.Group(); len(left) > 0 {
			return fmt.Errorf("%w: process %d still exists after SIGKILL", ErrNoEffect, left[0])
		}
		return nil
	})
	return fmt.Sprintf("SIGKILL was sent, and process %d ended (processes in its group: %d)", p.PID(), len(group)), err
}

var _ = register(Kind{
	Name:  "client.kill",
	About: "kills a client's process (SIGKILL) and every other client in it; they may return when the fault heals",
	Proof: "the process and all processes that it started have ended",
	needs: []need{needsDriver},
	onClient: fixed(processFault(func(ctx context.Context, _ wire.Client, p Process) (Effect, error) {
		e := Effect{Undo: func(context.Context) error { return p.Replace("") }}
		return e.inject(ctx, nil, func() (string, error) { return killAndConfirm(ctx, p) })
	})),
})

// client.restart is a crash after which a supervisor starts the client again. The old session lives
// until it expires, with its nodes.
var _ = register(Kind{
	Name:   "client.restart",
	About:  "kills a client's process (SIGKILL) and every other client in it, and starts them again in a new process at once",
	Proof:  "the process has ended, and the client has a new session",
	Params: []Param{{RestartAs, "", "subject that the clients run from then on, such as another version: lock/curator@5.7.1; empty: the same"}},
	needs:  []need{needsDriver},
	onClient: func(s settings) clientFault {
		as := s.values[RestartAs]
		return processFault(func(ctx context.Context, c wire.Client, p Process) (Effect, error) {
			old, begin := c.Session().ID, time.Now()
			proof, err := killAndConfirm(ctx, p)
			if err := errors.Join(err, p.Replace(as)); err != nil {
				return Effect{}, err
			}
			if as != "" {
				proof += "; it was started again as " + as
			}
			err = poll(ctx, reconnectLimit, func(context.Context) error {
				if s := c.Session(); s.ID == 0 || s.ID == old || s.Expired || s.Closed {
					return fmt.Errorf("%w: the client has not reconnected with a new session", ErrNoEffect)
				}
				return nil
			})
			took := time.Since(begin).Round(time.Millisecond)
			return Effect{Proof: fmt.Sprintf("%s; after %v, the client had the new session %#x", proof, took, c.Session().ID)}, err
		})
	},
})

const RestartAs = "as"

// reconnectLimit bounds the wait for the new session of a client whose process is started again.
const reconnectLimit = 60 * time.Second

// client.pause is like a long garbage collection, a hypervisor's or a debugger's stop. Incoming data waits
// in the process's sockets. Fencing protects against a holder that is paused past its session timeout.
var _ = register(Kind{
	Name:  "client.pause",
	About: "stops a client's process (SIGSTOP) and every other client in it until the fault heals (SIGCONT)",
	Proof: "the kernel shows all threads of the process as stopped, state T",
	needs: []need{needsDriver},
	onClient: fixed(processFault(func(ctx context.Context, _ wire.Client, p Process) (Effect, error) {
		e := Effect{Undo: func(ctx context.Context) error { return resumeAndConfirm(ctx, p) }}
		pause := func(context.Context) error { return p.Pause() }
		return e.inject(ctx, pause, func() (string, error) { return awaitStopped(ctx, p) })
	})),
})

func awaitStopped(ctx context.Context, p Process) (proof string, err error) {
	err = poll(ctx, signalLimit, func(context.Context) error {
		group, stopped := p.Group()
		for _, pid := range group {
			if !slices.Contains(stopped, pid) {
				return fmt.Errorf("%w: process %d is still running", ErrNoEffect, pid)
			}
		}
		if len(group) == 0 {
			return fmt.Errorf("%w: process %d has ended", ErrNoEffect, p.PID())
		}
		proof = fmt.Sprintf("SIGSTOP was sent, and the kernel shows state T for every thread of process %d (processes in its group: %d)", p.PID(), len(group))
		return nil
	})
	return proof, err
}

func resumeAndConfirm(ctx context.Context, p Process) error {
	if err := p.Resume(); err != nil {
		return err
	}
	return poll(ctx, signalLimit, func(context.Context) error {
		if _, stopped := p.Group(); len(stopped) > 0 {
			return fmt.Errorf("process %d is still stopped after SIGCONT", stopped[0])
		}
		return nil
	})
}
