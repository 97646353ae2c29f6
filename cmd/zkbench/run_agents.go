package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/agents"
)

type agentFlags struct {
	engine, listen string
	relay          bool
	given          func(flag string) bool
}

func (f *agentFlags) register(fl *pflag.FlagSet) {
	f.given = fl.Changed
	fl.StringVar(&f.engine, "agents", "", "run the clients elsewhere: local:N, ssh:HOST,HOST, kubernetes:N or wait:N (default: in this process; zkbench help agents)")
	fl.StringVar(&f.listen, "agents-listen", "", "host:port at which agents reach this process (default: determined by the engine)")
	fl.BoolVar(&f.relay, "agents-relay", false, "agents reach the members through this process")
}

// words returns the flags as arguments.
func (f *agentFlags) words() (args []string) {
	if f.engine != "" {
		args = append(args, "--agents", f.engine)
	}
	if f.listen != "" {
		args = append(args, "--agents-listen", f.listen)
	}
	if f.relay {
		args = append(args, "--agents-relay")
	}
	return args
}

// check reports invalid flags, before anything is started.
func (f *agentFlags) check(configs []scenarios.Config) error {
	switch {
	case f.engine == "" && f.given("agents"):
		return usageError("--agents is empty: want %s", strings.Join(agents.Engines(), "; "))
	case f.engine == "" && (f.listen != "" || f.relay):
		return usageError("--agents-listen and --agents-relay go with --agents")
	case f.engine == "":
		return nil
	}
	if _, _, err := net.SplitHostPort(f.listen); f.listen != "" && err != nil {
		return usageError("--agents-listen %s: want HOST:PORT, on which agents reach this process", f.listen)
	}
	for _, c := range configs {
		if err := c.RefuseAgents(); err != nil {
			return err
		}
	}
	_, err := agents.ParseEngine(f.engine, agents.Place{})
	return err
}

// muster starts the agents, if there are any. dismiss stops them.
func (f *agentFlags) muster(ctx context.Context, logf func(string, ...any)) (fleet *agents.Fleet, dismiss func() error, err error) {
	nothing := func() error { return nil }
	if f.engine == "" {
		return nil, nothing, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nothing, err
	}
	dir, err := agentsFolder()
	if err != nil {
		return nil, nothing, err
	}
	engine, err := agents.ParseEngine(f.engine, agents.Place{Self: []string{self}, Owner: state.Self().String(), Dir: dir, Logf: logf, Listen: f.listen})
	if err != nil {
		return nil, nothing, errors.Join(err, os.RemoveAll(dir))
	}
	crew, err := agents.StartAgents(ctx, engine, ownVersion(), logf)
	if err != nil {
		return nil, nothing, errors.Join(err, os.RemoveAll(dir))
	}
	return crew.Fleet, func() error { return errors.Join(crew.Dismiss(), os.RemoveAll(dir)) }, nil
}

// agentsPattern is the name of folders for agents' files, and ownerFile the file in it with the
// process that created it.
const (
	agentsPattern = "zkbench-agents-"
	ownerFile     = "owner"
)

// agentsFolder creates a folder for agents' files.
func agentsFolder() (string, error) {
	dir, err := os.MkdirTemp("", agentsPattern)
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, ownerFile), []byte(state.Self().String()), 0o600)
}

// sweepAgents removes this user's folders of crashed runs for their agents, and returns a line for
// each.
func sweepAgents() (removed []string, err error) {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), agentsPattern+"*")) // the pattern is valid
	for _, dir := range folders {
		folder, openErr := state.OpenDir(dir)
		if openErr != nil {
			continue
		}
		folder.Close()
		owner, readErr := safefile.Read(filepath.Join(dir, ownerFile), safefile.Config)
		if o := state.ParseProcess(string(owner)); readErr != nil || o == (state.Process{}) || o.Alive() {
			continue
		}
		if removeErr := os.RemoveAll(dir); removeErr != nil {
			err = errors.Join(err, removeErr)
			continue
		}
		removed = append(removed, "the agents' folder "+dir+" of a crashed run")
	}
	return removed, err
}
