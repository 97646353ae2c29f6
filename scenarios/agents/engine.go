// Package agents runs clients of a trial on other machines: the tap on their connections is in the
// agent's process, and the clients are in that process or in drivers.
//
// A [Fleet] is the coordinator's side, used by the runner: agents dial it, one connection each. [Agent.Serve] is the
// agent's side. Agents make no decisions: they start processes, forward their output, and tap their connections to
// the servers, where the coordinator injects faults. Their times are of their own clock, which the coordinator maps
// to its own with a known error (package clock).
//
// # Files
//
// link.go is the connection, internal/msg its messages. fleet.go, peer.go and trial.go are the coordinator's side;
// trial.go has the taps of a trial's clients, peer.go the programs on an agent. serve.go and serve_tap.go are the
// agent's side. engine.go starts agents as local processes, engine_kubernetes.go in Kubernetes.
package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/site"
)

type Engine interface {
	Agents() int
	// Reach returns the address on which the coordinator listens, host:port, and the host under
	// which agents dial it; "" for the host of the listener.
	Reach(ctx context.Context) (listen, host string, err error)
	// Start starts the agents; ctx is done once all have joined. ended receives an error when an
	// agent ends unexpectedly. stop stops them and removes everything that was created for them; it
	// must be called, also after an error.
	Start(ctx context.Context, j Join, ended func(error)) (stop func() error, err error)
}

type EngineConfig struct {
	Self   []string // program and arguments of zkbench
	Owner  string   // identifies this process
	Dir    string   // for the agents' output
	Logf   func(format string, args ...any)
	Listen string // host:port for agents to dial; "" lets the engine choose
}

var engines = map[string]struct {
	about string
	parse func(rest string, p EngineConfig) (Engine, error)
}{
	"local": {"local:N, N processes on this machine, for trying out agents",
		func(rest string, p EngineConfig) (Engine, error) {
			n, err := count(rest)
			return local{joinFileEngine{p, n}}, err
		}},
	"kubernetes": {"kubernetes:N, an Indexed Job of N pods", parseKubernetes},
	"wait": {"wait:N, N agents that you start yourself with the join file that zkbench writes",
		func(rest string, p EngineConfig) (Engine, error) {
			n, err := count(rest)
			return manualEngine{joinFileEngine{p, n}}, err
		}},
}

func Engines() (lines []string) {
	for _, e := range engines {
		lines = append(lines, e.about)
	}
	slices.Sort(lines)
	return lines
}

// ParseEngine returns the engine that the value of --agents describes, such as local:3. [Engines] lists the kinds.
func ParseEngine(text string, p EngineConfig) (Engine, error) {
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

// maxAgents bounds the number of agents, to detect typing errors.
const maxAgents = 1000

func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxAgents {
		return 0, fmt.Errorf("%q is not a number of agents from 1 to %d", text, maxAgents)
	}
	return n, nil
}

// joinFileEngine are n agents that join with a file; without an address the coordinator listens on loopback only.
type joinFileEngine struct {
	EngineConfig
	n int
}

func (a joinFileEngine) Agents() int { return a.n }

func (a joinFileEngine) Reach(context.Context) (listen, host string, err error) {
	return cmp.Or(a.Listen, "127.0.0.1:0"), "", nil
}

func (a joinFileEngine) writeJoin(j Join) (path string, err error) {
	path = filepath.Join(a.Dir, "join.pem")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, j.Encode(), 0o600)
}

// StartAgents lets the engine start its agents, and waits until all have joined. dismiss stops the agents and
// removes their files; it must be called unless there is an error.
func StartAgents(ctx context.Context, e Engine, version string, logf func(string, ...any)) (f *Fleet, dismiss func() error, err error) {
	listen, host, err := e.Reach(ctx)
	if err != nil {
		return nil, nil, err
	}
	if f, err = Listen(listen, version, logf); err != nil {
		return nil, nil, err
	}
	var dismissed atomic.Bool
	stop := func() error { return nil }
	dismiss = func() error {
		dismissed.Store(true)
		return errors.Join(f.Close(), stop())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dismiss())
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopAgents, err := e.Start(ctx, f.Join(host), func(cause error) {
		if !dismissed.Load() {
			logf("%v", cause)
			cancel(cause)
		}
	})
	if stopAgents != nil {
		stop = stopAgents
	}
	if err != nil {
		return f, dismiss, err
	}
	ctx, late := context.WithTimeoutCause(ctx, joinLimit, fmt.Errorf("timed out after %v", joinLimit))
	defer late()
	return f, dismiss, f.Await(ctx, e.Agents())
}

type manualEngine struct{ joinFileEngine }

func (w manualEngine) Start(_ context.Context, j Join, _ func(error)) (stop func() error, err error) {
	file, err := w.writeJoin(j)
	if err != nil {
		return nil, err
	}
	w.Logf("start %d agents, each with: %s agent --join %s", w.n, strings.Join(w.Self, " "), file)
	return func() error { return os.Remove(file) }, nil
}

// joinLimit bounds the time that agents need to join: a cluster may have to pull an image.
const joinLimit = 5 * time.Minute

const endLimit = 10 * time.Second

type local struct{ joinFileEngine }

func (l local) Start(_ context.Context, j Join, ended func(error)) (stop func() error, err error) {
	file, err := l.writeJoin(j)
	if err != nil {
		return nil, err
	}
	s := &localAgents{}
	stop = func() error { s.end(); return os.Remove(file) }
	for i := range l.n {
		name := fmt.Sprintf("local-%d", i+1)
		args := slices.Concat(l.Self, []string{"agent", "--attached", "--join", file, "--name", name, "--index", fmt.Sprint(i)})
		if err := s.start(l.EngineConfig, name, args, ended); err != nil {
			return stop, err
		}
	}
	return stop, nil
}

type localAgents struct {
	ending   atomic.Bool
	all      []site.Process
	watchers sync.WaitGroup
}

// Mark names the agents' environment variable whose value identifies the process that started them.
const Mark = "ZKBENCH_AGENT"

// start starts an agent. Its output goes to a file. Its stdin stays open: an agent stops when it ends.
func (s *localAgents) start(p EngineConfig, name string, args []string, ended func(error)) error {
	log, err := os.Create(filepath.Join(p.Dir, name+".log"))
	if err != nil {
		return err
	}
	r, err := site.Here{}.Start(site.Program{Args: args, Mark: Mark + "=" + p.Owner})
	if err != nil {
		return errors.Join(fmt.Errorf("start agent %s: %w", name, err), log.Close())
	}
	s.all = append(s.all, r)
	var printed sync.WaitGroup
	for _, from := range []site.Output{r.Stdout(), r.Stderr()} { // the output is for users
		printed.Go(func() {
			defer from.Close()
			_, _ = io.Copy(log, from)
		})
	}
	s.watchers.Go(func() {
		<-r.Exited()
		_ = r.Stdin().Close()
		late := time.Now().Add(time.Second) // another process may keep the pipes open
		_, _ = r.Stdout().SetReadDeadline(late), r.Stderr().SetReadDeadline(late)
		printed.Wait()
		_ = log.Close()
		if text, _ := r.State(); !s.ending.Load() {
			ended(fmt.Errorf("agent %s has ended (%s)%s", name, text, lastLine(log.Name())))
		}
	})
	return nil
}

func (s *localAgents) end() {
	s.ending.Store(true)
	var ends sync.WaitGroup
	for _, r := range s.all {
		ends.Go(func() {
			_ = r.Stdin().Close()
			select {
			case <-r.Exited():
			case <-time.After(endLimit):
				r.Kill()
				<-r.Exited()
			}
		})
	}
	ends.Wait()
	s.watchers.Wait()
}

var crash = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)

func lastLine(log string) string {
	text, _ := os.ReadFile(log) // an agent prints a few lines
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if line := cmp.Or(crash.FindString(string(text)), lines[len(lines)-1]); line != "" {
		return ": " + line
	}
	return ""
}
