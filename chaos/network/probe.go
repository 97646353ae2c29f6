package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/zkbench/zkbench/ensembles/rootless"
)

// probeEnv is the environment variable that makes this executable print what networks allow.
const probeEnv = "ZKBENCH_NETWORK_PROBE"

// Abilities are the operations on networks that this machine supports: nil, or why not.
type Abilities struct {
	Namespaces error // creating a network namespace
	Filter     error // dropping packets in the namespace
	Delay      error // delaying packets in the namespace

	Rootless bool // these need a user namespace, in which zkbench starts itself again
}

// probed holds the errors of Abilities as text; "" means nil.
type probed struct{ Namespaces, Filter, Delay string }

// Probe tests which network operations this process can perform or, if it lacks the
// permissions, could perform in namespaces of the user.
func Probe(ctx context.Context) Abilities {
	if rootless.Inside() || rootless.Rights() == nil {
		return probeInNamespace()
	}
	if err := rootless.Possible(ctx); err != nil {
		return noNetworks(err)
	}
	cmd := rootless.Command(ctx, nil)
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

// probeIfAsked runs the probe in the process that Probe starts.
func probeIfAsked() {
	if os.Getenv(probeEnv) == "" {
		return
	}
	a := probeInNamespace()
	_ = json.NewEncoder(os.Stdout).Encode(probed{asText(a.Namespaces), asText(a.Filter), asText(a.Delay)}) // Probe detects an incomplete text
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
