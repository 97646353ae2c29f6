package agents

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Engine starts agents and takes them away.
type Engine interface {
	// Agents is how many it starts.
	Agents() int
	// Reach is where agents reach the coordinator: the address to listen on, host:port, and the
	// host by which they call it; "" for the one that is listened on.
	Reach(ctx context.Context) (listen, host string, err error)
	// Start starts the agents with what they need to join, and returns when they are on
	// their way; ctx is done once all have joined. ended gets an error when one has ended that
	// should not have. stop ends them and takes away whatever was made for them; it must be
	// called, also after an error.
	Start(ctx context.Context, j Join, ended func(error)) (stop func() error, err error)
}

// Place is where an engine has what it needs on this machine.
type Place struct {
	Self   []string // the program zkbench
	Owner  string   // names this process for ever
	Dir    string   // for files that stay: what agents print
	Logf   func(format string, args ...any)
	Listen string // host:port for agents to dial; "" is what the engine chooses
}

// engines are the kinds of engine, by the word before the colon.
var engines = map[string]struct {
	about string
	parse func(rest string, p Place) (Engine, error)
}{
	"local":      {"local:N, N processes on this machine, to try it out", parseLocal},
	"ssh":        {"ssh:HOST,HOST, one on each host, to which the program is copied", parseSSH},
	"kubernetes": {"kubernetes:N, an Indexed Job of N pods", parseKubernetes},
	"wait":       {"wait:N, N that you start yourself with the join file that is written", parseWait},
}

// Engines returns a line about each kind of engine.
func Engines() (lines []string) {
	for _, e := range engines {
		lines = append(lines, e.about)
	}
	slices.Sort(lines)
	return lines
}

// ParseEngine reads what --agents says.
func ParseEngine(text string, p Place) (Engine, error) {
	kind, rest, _ := strings.Cut(text, ":")
	e, known := engines[kind]
	if !known {
		return nil, fmt.Errorf("--agents %s: want %s", text, strings.Join(Engines(), "; "))
	}
	engine, err := e.parse(rest, p)
	if err != nil {
		return nil, fmt.Errorf("--agents %s: %w; want %s", text, err, e.about)
	}
	return engine, nil
}

// maxAgents is a bound against a slip of the hand.
const maxAgents = 1000

// count reads a number of agents.
func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxAgents {
		return 0, fmt.Errorf("%q is no number of agents from 1 to %d", text, maxAgents)
	}
	return n, nil
}

// writeJoin writes a join file that only its owner can read.
func writeJoin(path string, j Join) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, j.Encode(), 0o600)
}

// Crew is a fleet and the engine that has started its agents.
type Crew struct {
	*Fleet
	stop func() error
	over atomic.Bool
}

// Muster listens, has the engine start its agents, and returns when all have joined. Dismiss
// must be called where there is no error.
func Muster(ctx context.Context, e Engine, version string, logf func(string, ...any)) (_ *Crew, err error) {
	listen, host, err := e.Reach(ctx)
	if err != nil {
		return nil, err
	}
	f, err := Listen(listen, version, logf)
	if err != nil {
		return nil, err
	}
	c := &Crew{Fleet: f, stop: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Dismiss())
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, err := e.Start(ctx, f.Join(host), func(why error) {
		if !c.over.Load() {
			logf("%v", why)
			cancel(why)
		}
	})
	if stop != nil {
		c.stop = stop
	}
	if err != nil {
		return nil, err
	}
	ctx, late := context.WithTimeoutCause(ctx, joinLimit, fmt.Errorf("they had %v", joinLimit))
	defer late()
	return c, f.Await(ctx, e.Agents())
}

// Dismiss tells the agents that the run is over, and takes them away.
func (c *Crew) Dismiss() error {
	c.over.Store(true)
	return errors.Join(c.Close(), c.stop())
}

// everywhere says whether listening there is listening on all addresses.
func everywhere(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "" || err == nil && a.IsUnspecified()
}
