package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// The agent is this executable, started again in a small container that shares a
// member's network namespace. It alone holds the right to filter packets there,
// which is how a user who may talk to Docker needs no root. Orders come in and
// answers go out as JSON lines over the container's standard streams: Docker's
// socket, not the network that is being cut. When whoever started it goes away,
// however rudely, Docker closes the agent's standard input; it then heals
// everything and ends.

// agentEnv asks an executable of ours to be the agent of the owner it names.
const agentEnv = "ZKBENCH_NETWORK_AGENT"

// order is one thing to do to a network namespace.
type order struct {
	Do     string        `json:"do"` // cut, heal, dropped, slow, hasten, owners, sweep
	Rule   Rule          `json:"rule,omitzero"`
	Cut    int           `json:"cut,omitempty"`    // heal, dropped
	Owner  string        `json:"owner,omitempty"`  // sweep
	Delay  time.Duration `json:"delay,omitempty"`  // slow
	Jitter time.Duration `json:"jitter,omitempty"` // slow
}

// answer is the outcome of one order.
type answer struct {
	Cut     int      `json:"cut,omitempty"`
	Dropped Dropped  `json:"dropped,omitzero"`
	Owners  []string `json:"owners,omitempty"`
	Swept   int      `json:"swept,omitempty"`
	Skipped bool     `json:"skipped,omitempty"` // Err wraps ErrSkipped
	Err     string   `json:"err,omitempty"`
}

// do carries out an order.
func (f *filter) do(o order) (a answer) {
	var err error
	switch o.Do {
	case "cut":
		a.Cut, err = f.cut(o.Rule)
	case "heal":
		err = f.heal(o.Cut)
	case "dropped":
		a.Dropped, err = f.dropped(o.Cut)
	case "slow":
		err = f.slow(o.Delay, o.Jitter)
		a.Skipped = errors.Is(err, ErrSkipped)
	case "hasten":
		err = f.hasten()
	case "owners":
		a.Owners, err = f.owners()
	case "sweep":
		a.Swept, err = f.sweep(o.Owner)
	default:
		err = fmt.Errorf("the agent does not know the order %q", o.Do)
	}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

// RunAgentIfAsked turns this process into a network agent and never returns, if
// that is what it was started for; otherwise it returns at once. Call it first
// thing in main, and in TestMain of packages whose tests cut networks: the
// executable that cuts is the one that was asked to.
func RunAgentIfAsked() {
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

// runAgent serves orders until in ends, then heals everything. Its first line is
// the answer to an order for owners: it says that the agent is ready.
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
