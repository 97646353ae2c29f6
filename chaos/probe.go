package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zkbench/zkbench/ensembles/rootless"
)

// probeEnv is the environment variable that makes this executable print what networks allow.
const probeEnv = "ZKBENCH_NETWORK_PROBE"

// probed holds the fields of Abilities that concern networks as text; "" means nil.
type probed struct{ Namespaces, Filter, Delay string }

// probeNetworkAnywhere tests which network operations this process can perform or, if it lacks the
// permissions, could perform in namespaces of the user.
func probeNetworkAnywhere(ctx context.Context) Abilities {
	if rootless.Inside() || rootless.Rights() == nil {
		return probeNetwork()
	}
	if err := rootless.Possible(ctx); err != nil {
		return noNetworks(err)
	}
	cmd := rootless.Command(ctx)
	cmd.Env = append(cmd.Env, probeEnv+"=1")
	out, err := cmd.Output()
	var p probed
	if err == nil {
		err = json.Unmarshal(out, &p)
	}
	if err != nil {
		return noNetworks(fmt.Errorf("check the permissions in this user's namespaces: %w", err))
	}
	return Abilities{Namespaces: asError(p.Namespaces), Filter: asError(p.Filter), Delay: asError(p.Delay), Rootless: true}
}

func noNetworks(err error) Abilities { return Abilities{Namespaces: err, Filter: err, Delay: err} }

// probeIfAsked runs the probe in the process that probeNetworkAnywhere starts.
func probeIfAsked() {
	if os.Getenv(probeEnv) == "" {
		return
	}
	a := probeNetwork()
	if err := json.NewEncoder(os.Stdout).Encode(probed{asText(a.Namespaces), asText(a.Filter), asText(a.Delay)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func asText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func asError(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// pollEvery is the interval of poll: small against the 20 ms within which a fault must take effect.
const pollEvery = 2 * time.Millisecond

// poll calls try until it returns nil. If the limit or the context ends first, it returns try's
// last error and the reason.
func poll(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	return pollAt(ctx, pollEvery, limit, try)
}

func pollAt(ctx context.Context, every, limit time.Duration, try func(context.Context) error) error {
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("timed out after %v", limit))
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last error
	for {
		err := try(within)
		if err == nil {
			return nil
		}
		// An error of a try that the limit cut short does not show the condition. A network
		// deadline may fire before the context's own.
		if end, _ := within.Deadline(); last == nil || within.Err() == nil && time.Now().Before(end) {
			last = err
		}
		select {
		case <-tick.C:
		case <-within.Done():
			return fmt.Errorf("%w: %w", context.Cause(within), last)
		}
	}
}
