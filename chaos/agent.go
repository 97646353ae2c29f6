package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// The agent is this executable, started again in a small container that shares a member's network
// namespace. Only the agent has the permission to filter packets there, so a user of Docker needs
// no root. Orders and answers are JSON lines on the container's standard streams: they use Docker's
// socket, not the network that is cut. When the process that started it ends, also by SIGKILL,
// Docker closes the agent's standard input; the agent then heals everything and exits.

// agentEnv is the environment variable that makes this executable an agent of the owner in its
// value.
const agentEnv = "ZKBENCH_NETWORK_AGENT"

type order struct {
	Do     string        `json:"do"` // cut, heal, dropped, delay, undelay, owners, sweep
	Rule   packetRule    `json:"rule,omitzero"`
	Cut    int           `json:"cut,omitempty"`    // heal, dropped
	Owner  string        `json:"owner,omitempty"`  // sweep
	Delay  time.Duration `json:"delay,omitempty"`  // delay
	Jitter time.Duration `json:"jitter,omitempty"` // delay
}

type answer struct {
	Cut     int      `json:"cut,omitempty"`
	Dropped uint64   `json:"dropped,omitzero"`
	Owners  []string `json:"owners,omitempty"`
	Skipped bool     `json:"skipped,omitempty"` // Err wraps ErrSkipped
	Err     string   `json:"err,omitempty"`
}

func (f *filter) do(o order) (a answer) {
	var err error
	switch o.Do {
	case "cut":
		a.Cut, err = f.cut(o.Rule)
	case "heal":
		err = f.heal(o.Cut)
	case "dropped":
		a.Dropped, err = f.dropped(o.Cut)
	case "delay":
		err = f.delay(o.Delay, o.Jitter)
		a.Skipped = errors.Is(err, ErrSkipped)
	case "undelay":
		err = f.removeDelay()
	case "owners":
		a.Owners, err = f.owners()
	case "sweep":
		_, err = f.sweep(o.Owner)
	default:
		err = fmt.Errorf("the agent does not know the order %q", o.Do)
	}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

type access struct {
	// namespace identifies the namespace; a member that was restarted may have a new one.
	namespace string
	alive     func() bool
	ask       func(ctx context.Context, o order) (answer, error)
	close     func(ctx context.Context) error
}

// do carries out an order and returns the error of the answer.
func (a *access) do(ctx context.Context, o order) (answer, error) {
	got, err := a.ask(ctx, o)
	switch {
	case err != nil || got.Err == "":
		return got, err
	case got.Skipped:
		return got, skipped{got.Err}
	}
	return got, errors.New(got.Err)
}

// openPath opens a namespace by path, with this process's permissions.
func openPath(m *ensembles.Member, owner string) (*access, error) {
	ns, err := os.Open(m.NetNS)
	if err != nil {
		return nil, fmt.Errorf("%s: open its network namespace: %w", m.Name, err)
	}
	defer ns.Close()
	f, err := openFilter(int(ns.Fd()), owner)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.Name, m.NetNS, err)
	}
	return &access{
		alive: func() bool { return true },
		ask:   func(_ context.Context, o order) (answer, error) { return f.do(o), nil },
		close: func(context.Context) error { return f.close() },
	}, nil
}

// skipped is the text of an agent's error that wrapped ErrSkipped there.
type skipped struct{ text string }

func (s skipped) Error() string { return s.text }
func (s skipped) Unwrap() error { return ErrSkipped }

// RunAgentIfAsked makes this process a network agent, or a probe for [Probe], and never returns, if
// the process was started as one; otherwise it returns at once. Call it first in main, and in
// TestMain of packages whose tests cut networks: agents are started from the executable that calls
// NewNetwork.
func RunAgentIfAsked() {
	probeIfAsked()
	owner := os.Getenv(agentEnv)
	if owner == "" {
		return
	}
	if err := runAgent(os.Stdin, os.Stdout, owner); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runAgent carries out orders until in ends, then heals everything. Its first line is the answer to
// an order for owners, which shows that the agent is ready.
func runAgent(in io.Reader, out io.Writer, owner string) (err error) {
	f, err := openFilter(0, owner)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	lines, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for o := (order{Do: "owners"}); ; o = (order{}) {
		if o.Do == "" {
			if err := lines.Decode(&o); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("read an order: %w", err)
			}
		}
		if err := answers.Encode(f.do(o)); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}
