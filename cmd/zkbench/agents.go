package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/agents"
)

func agentsCmd() *cobra.Command {
	return group("agents", "Start and stop agents for a run that waits for them", page("agents"),
		agentsKubernetesCmd())
}

func agentsKubernetesCmd() *cobra.Command {
	var replicas int
	var join, logs string
	var print bool
	values := map[string]*string{}
	cmd := &cobra.Command{
		Use:   "kubernetes --replicas N",
		Short: "Run agents as pods of an Indexed Job, or print its manifests",
		Example: `  zkbench agents kubernetes --replicas 20 --print
  zkbench agents kubernetes --replicas 3 --image registry.example/zkbench:1 --join join.pem`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if replicas < 1 {
				return usageError("--replicas %d: must be 1 or more", replicas)
			}
			spec := fmt.Sprintf("kubernetes:%d", replicas)
			for _, o := range agents.KubernetesOptions() {
				if cmd.Flags().Changed(o.Name) {
					spec += "," + o.Name + "=" + *values[o.Name]
				}
			}
			if print {
				return printManifests(cmd, spec, join)
			}
			return runAgents(cmd, spec, join, logs)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&replicas, "replicas", 0, "number of agents")
	fl.StringVar(&join, "join", "", "join file written by zkbench run --agents wait:N")
	fl.BoolVar(&print, "print", false, "print the manifests and exit")
	fl.StringVar(&logs, "logs", "", "folder for the pods' output")
	for _, o := range agents.KubernetesOptions() {
		values[o.Name] = fl.String(o.Name, o.Default, o.About)
	}
	return cmd
}

func readJoin(file string) (agents.Join, error) {
	if file == "" {
		return agents.Join{}, usageError("--join is required: the join file that zkbench run --agents wait:N has written")
	}
	text, err := safefile.Read(file, safefile.Config)
	if err != nil {
		return agents.Join{}, usageError("--join: %v", err)
	}
	j, err := agents.ParseJoin(text)
	if err != nil {
		return j, usageError("--join %s: %v", file, err)
	}
	return j, nil
}

func printManifests(cmd *cobra.Command, spec, join string) error {
	e, err := agents.ParseEngine(spec, agents.EngineConfig{})
	if err != nil {
		return usage(err)
	}
	var j *agents.Join
	if join != "" {
		read, err := readJoin(join)
		if err != nil {
			return err
		}
		j = &read
	}
	text, err := e.(*agents.Kubernetes).Manifests(j)
	if err != nil {
		return usage(err)
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

func runAgents(cmd *cobra.Command, spec, join, logs string) (err error) {
	if logs == "" {
		if logs, err = os.MkdirTemp("", "zkbench-agents-"); err != nil {
			return err
		}
		defer os.RemoveAll(logs)
	} else if err := os.MkdirAll(logs, 0o755); err != nil {
		return usageError("--logs: %v", err)
	}
	e, err := newEngine(spec, agents.EngineConfig{Dir: logs, Logf: logTo(cmd.ErrOrStderr())})
	if err != nil {
		return usage(err)
	}
	j, err := readJoin(join)
	if err != nil {
		return err
	}
	lost := make(chan error, e.Agents()+2) // senders never wait
	stop, err := e.Start(cmd.Context(), j, func(why error) { lost <- why })
	if stop != nil {
		defer func() { err = errors.Join(err, stop()) }()
	}
	if err != nil {
		return err
	}
	select {
	case <-e.(*agents.Kubernetes).Done(): // the Job has ended; until then it replaces lost pods
	case <-cmd.Context().Done(): // the exit code shows it
		return nil
	}
	select {
	case err = <-lost:
	default:
	}
	return err
}

func newEngine(spec string, c agents.EngineConfig) (agents.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c.Self, c.Owner = []string{self}, state.Self().String()
	return agents.ParseEngine(spec, c)
}

func logTo(w io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
}

func agentCmd() *cobra.Command {
	var join, name string
	var index int
	var attached bool
	cmd := &cobra.Command{
		Use:   "agent --join FILE",
		Short: "Run clients on this machine for a zkbench on another machine",
		Long:  page("agent"),
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			j, err := readJoin(join)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancelCause(cmd.Context())
			defer cancel(nil)
			if attached {
				go func() {
					_, _ = io.Copy(io.Discard, cmd.InOrStdin())
					cancel(errDetached)
				}()
			}
			host, _ := os.Hostname()
			self, _ := os.Executable()
			err = agents.Agent{
				Name: cmp.Or(name, host), Version: ownVersion(), Index: index, Self: []string{self},
				Skew: os.Getenv(clock.Skew), Owner: state.Self().String(),
				Logf: logTo(cmd.ErrOrStderr()),
			}.Serve(ctx, j)
			if errors.Is(err, errDetached) {
				return nil
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&join, "join", "", "join file: the coordinator's address and the agent's credentials")
	fl.StringVar(&name, "name", "", "name of this agent (default: the machine's name)")
	fl.IntVar(&index, "index", -1, "index of this agent, from 0 (default: order of arrival)")
	fl.BoolVar(&attached, "attached", false, "exit when stdin is closed")
	return cmd
}

var errDetached = errors.New("stdin has ended")

// ownVersion returns the version that a coordinator and its agents must share.
func ownVersion() string {
	own := versions()
	return fmt.Sprintf("zkbench %s, go %s, client %s", own["zkbench"], own["go"], own["client"])
}

type agentFlags struct {
	engine, listen string
	relay          bool
}

func (f *agentFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.engine, "agents", "", "run the clients elsewhere: local:N, kubernetes:N or wait:N (default: in this process; zkbench help agents)")
	fl.StringVar(&f.listen, "agents-listen", "", "host:port at which agents reach this process (default: determined by the engine)")
	fl.BoolVar(&f.relay, "agents-relay", false, "connect agents to the ensemble's members through this process")
}

func (f *agentFlags) check(configs []scenarios.Config) error {
	switch {
	case f.engine == "" && (f.listen != "" || f.relay):
		return usageError("--agents-listen and --agents-relay require --agents")
	case f.engine == "":
		return nil
	}
	if _, _, err := net.SplitHostPort(f.listen); f.listen != "" && err != nil {
		return usageError("--agents-listen %s: want HOST:PORT, at which agents reach this process", f.listen)
	}
	for _, c := range configs {
		if err := c.Scenario.CheckAgents(); err != nil {
			return err
		}
	}
	_, err := agents.ParseEngine(f.engine, agents.EngineConfig{})
	return err
}

// start starts the agents of --agents; fleet is nil without agents. stop stops them.
func (f *agentFlags) start(ctx context.Context, logf func(string, ...any)) (fleet *agents.Fleet, stop func() error, err error) {
	if f.engine == "" {
		return nil, func() error { return nil }, nil
	}
	dir, err := agentsFolder()
	if err != nil {
		return nil, nil, err
	}
	engine, err := newEngine(f.engine, agents.EngineConfig{Dir: dir, Logf: logf, Listen: f.listen})
	if err == nil {
		fleet, stop, err = agents.StartAgents(ctx, engine, ownVersion(), logf)
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	stopAgents := stop
	return fleet, func() error { return errors.Join(stopAgents(), os.RemoveAll(dir)) }, nil
}

// agentsPrefix is the prefix of the names of folders for agents' files. ownerFile is a file in such a
// folder with the process that created it.
const (
	agentsPrefix = "zkbench-agents-"
	ownerFile    = "owner"
)

func agentsFolder() (string, error) {
	dir, err := os.MkdirTemp("", agentsPrefix)
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, ownerFile), []byte(state.Self().String()), 0o600)
}

// sweepAgents removes this user's agent folders of crashed runs, and returns a line for each removed folder.
func sweepAgents() (removed []string, err error) {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), agentsPrefix+"*")) // the pattern is valid
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
