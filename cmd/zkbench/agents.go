package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/scenarios/agents"
)

func agentsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "Start and stop agents for a run that waits for them",
		Long:  page("agents"),
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(agentsKubernetesCmd(), agentsSSHCmd())
	return cmd
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
				return usageError("how many agents? --replicas %d: want 1 or more", replicas)
			}
			spec := []string{fmt.Sprint(replicas)}
			for _, o := range agents.KubernetesOptions() {
				if cmd.Flags().Changed(o.Name) {
					spec = append(spec, o.Name+"="+*values[o.Name])
				}
			}
			if print {
				return printManifests(cmd, "kubernetes:"+strings.Join(spec, ","), join)
			}
			return runAgents(cmd, "kubernetes:"+strings.Join(spec, ","), join, logs)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&replicas, "replicas", 0, "number of agents")
	joinFlag(cmd, &join)
	fl.BoolVar(&print, "print", false, "print the manifests and exit")
	fl.StringVar(&logs, "logs", "", "folder for the pods' output")
	for _, o := range agents.KubernetesOptions() {
		values[o.Name] = fl.String(o.Name, o.Default, o.About)
	}
	return cmd
}

func agentsSSHCmd() *cobra.Command {
	var join, logs string
	cmd := &cobra.Command{
		Use:     "ssh HOST...",
		Short:   "Run one agent per host, to which this program is copied",
		Example: `  zkbench agents ssh node1 root@node2 --join join.pem`,
		RunE: func(cmd *cobra.Command, hosts []string) error {
			if len(hosts) == 0 {
				return usageError("%s: on which hosts?", cmd.CommandPath())
			}
			return runAgents(cmd, "ssh:"+strings.Join(hosts, ","), join, logs)
		},
	}
	joinFlag(cmd, &join)
	cmd.Flags().StringVar(&logs, "logs", "", "folder for the agents' output")
	return cmd
}

func joinFlag(cmd *cobra.Command, join *string) {
	cmd.Flags().StringVar(join, "join", "", "join file written by zkbench run --agents wait:N")
}

func readJoin(file string) (agents.Join, error) {
	if file == "" {
		return agents.Join{}, usageError("which run? --join names the join file that zkbench run --agents wait:N has written")
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
	e, err := agents.ParseEngine(spec, agents.Place{})
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

// runAgents runs agents until they have ended or the user stops them, and removes the files created for
// them.
func runAgents(cmd *cobra.Command, spec, join, logs string) (err error) {
	if logs == "" {
		if logs, err = os.MkdirTemp("", "zkbench-agents-"); err != nil {
			return err
		}
		defer os.RemoveAll(logs)
	} else if err := os.MkdirAll(logs, 0o755); err != nil {
		return usageError("--logs: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	logf := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
	e, err := agents.ParseEngine(spec, agents.Place{Self: []string{self}, Owner: state.Self().String(), Dir: logs, Logf: logf})
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
	return untilEnded(cmd.Context(), e, lost, logf)
}

// untilEnded waits until no agent runs. It returns an error if one ended that should have
// continued.
func untilEnded(ctx context.Context, e agents.Engine, lost <-chan error, logf func(string, ...any)) (err error) {
	if k, ok := e.(*agents.Kubernetes); ok { // pods are replaced: the Job tells when the last one has ended
		select {
		case <-k.Over():
		case <-ctx.Done(): // the exit code shows it
			return nil
		}
		select {
		case err = <-lost:
		default:
		}
		return err
	}
	failed := 0
	for range e.Agents() {
		select {
		case why := <-lost:
			var one agents.Ended
			if errors.As(why, &one) && one.Code == 0 {
				continue
			}
			logf("%v", why)
			failed++
		case <-ctx.Done():
			return nil
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d agents did not end because the run was over", failed, e.Agents())
	}
	return nil
}
