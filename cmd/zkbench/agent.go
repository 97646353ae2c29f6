package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/scenarios/agents"
)

func agentCmd() *cobra.Command {
	var join, name string
	var index int
	var attached bool
	cmd := &cobra.Command{
		Use:   "agent --join FILE",
		Short: "Run clients on this machine for a zkbench on another one",
		Long: `Run clients on this machine for a zkbench on another one.

zkbench run --agents writes the join file, or copies it to the agent itself (zkbench help agents).
The agent ends when the run is over, when it loses its link to the coordinator, or on Ctrl-C, and
ends everything that it started.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if join == "" {
				return usageError("which run? --join names the join file that zkbench run --agents has written")
			}
			text, err := safefile.Read(join, safefile.Config)
			if err != nil {
				return usageError("--join: %v", err)
			}
			j, err := agents.ParseJoin(text)
			if err != nil {
				return usageError("--join %s: %v", join, err)
			}
			ctx := cmd.Context()
			if attached {
				ctx = whileOpen(ctx, cmd.InOrStdin())
			}
			err = thisAgent(cmd, name, index).Serve(ctx, j)
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
	fl.BoolVar(&attached, "attached", false, "end when stdin is closed")
	return cmd
}

// thisAgent returns the description of this process as an agent.
func thisAgent(cmd *cobra.Command, name string, index int) agents.Agent {
	host, _ := os.Hostname()
	self, _ := os.Executable()
	return agents.Agent{
		Name: cmp.Or(name, host), Version: ownVersion(), Index: index, Self: []string{self}, Skew: os.Getenv(clock.Skew), Owner: state.Self().String(),
		Logf: func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) },
	}
}

// errDetached is the cause of cancellation when stdin has ended.
var errDetached = errors.New("stdin has ended")

// whileOpen returns a context that is canceled when in ends.
func whileOpen(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel(errDetached)
	}()
	return ctx
}

// ownVersion returns the version that a coordinator and its agents must share.
func ownVersion() string {
	var all []string
	for _, v := range versions() {
		all = append(all, v[0]+" "+v[1])
	}
	return strings.Join(all, ", ")
}
