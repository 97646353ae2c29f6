package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
)

func ensembleCmd() *cobra.Command {
	return group("ensemble", "Start, stop or inspect a persistent ensemble", "",
		ensembleUpCmd(), ensembleStatusCmd(), statusHereCmd(), ensembleDownCmd())
}

func ensembleUpCmd() *cobra.Command {
	o := ensembles.Options{Keep: true}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start an ensemble that `zkbench run` uses until `zkbench ensemble down`",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Logf = logTo(cmd.ErrOrStderr())
			return ensembleUp(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar((*string)(&o.Kind), "ensemble", "auto", "kind of ensemble: auto, container or process")
	fl.IntVar(&o.Members, "members", 3, "number of voting members")
	fl.IntVar(&o.Observers, "observers", 0, "number of additional members that only serve clients (observers)")
	fl.StringVar(&o.Image, "image", "", "container image (default zookeeper:3.9, else a locally built image)")
	fl.DurationVar(&o.Tick, "tick", defaultTick, "ZooKeeper's tickTime; session timeouts are limited to the range from 2 to 20 ticks")
	return cmd
}

func ensembleUp(ctx context.Context, w io.Writer, o ensembles.Options) error {
	if !slices.Contains([]ensembles.Kind{ensembles.Auto, ensembles.Container, ensembles.Process}, o.Kind) {
		return usageError("--ensemble %q: choose auto, container or process", o.Kind)
	}
	if err := checkSize(o); err != nil {
		return err
	}
	if o.Image != "" && o.Kind == ensembles.Process {
		return usageError("--image is for --ensemble container, not process")
	}
	records, err := state.List()
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.Keep && serves(ctx, r) {
			return usageError("ensemble %s is already up (zkbench ensemble status shows it, zkbench ensemble down removes it)", r.ID)
		}
	}
	if err := auto.Enter(ctx, o, os.Args); err != nil {
		return err
	}
	e, err := auto.Start(ctx, o)
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // interrupted after the start: do not keep the ensemble
		return errors.Join(context.Cause(ctx), e.Down(ctx))
	}
	fmt.Fprintf(w, "ensemble %s is up: %s\n%s\n", e.ID, e.About, strings.Join(e.Servers(), ","))
	return nil
}

func serves(ctx context.Context, r state.Record) bool {
	if !r.InThisNamespace() {
		_, err := process.Place(r)
		return err == nil
	}
	_, err := ensembles.Leader(ctx, r.Ensemble())
	return err == nil
}

func ensembleStatusCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the ensembles on this machine: members, leader, versions",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			records, err := state.List()
			for _, r := range records {
				show := showEnsemble
				if !r.InThisNamespace() {
					show = showInNamespace
				}
				if err := show(cmd.Context(), &sanitizingWriter{Writer: cmd.OutOrStdout()}, r); err != nil {
					return err
				}
			}
			if len(records) == 0 && err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), "no ensemble is up (zkbench ensemble up starts one)")
			}
			return err
		},
	}
}

func statusHereCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "status-here ID",
		Hidden: true,
		Args:   func(cmd *cobra.Command, args []string) error { return usage(cobra.ExactArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			records, err := state.List()
			for _, r := range records {
				if r.ID == args[0] && r.InThisNamespace() {
					return showEnsemble(cmd.Context(), &sanitizingWriter{Writer: cmd.OutOrStdout()}, r)
				}
			}
			return errors.Join(fmt.Errorf("there is no ensemble %s here", args[0]), err)
		},
	}
}

func showInNamespace(ctx context.Context, w io.Writer, r state.Record) error {
	child, err := auto.CommandInNamespace(ctx, r, "ensemble", "status-here", r.ID)
	if err != nil {
		_, err = fmt.Fprintf(w, "ensemble %s: %s, %s, %s: %v\n", r.ID, r.Kind, r.About, ownership(r), err)
		return err
	}
	child.Stdout, child.Stderr = w, os.Stderr
	return child.Run()
}

func showEnsemble(ctx context.Context, w io.Writer, r state.Record) error {
	fmt.Fprintf(w, "ensemble %s: %s, %s, tick %v, since %s, %s\n",
		r.ID, r.Kind, r.About, r.Tick, r.Created.Local().Format(time.DateTime), ownership(r))
	if slices.Contains(r.Secure, "tls") {
		_, err := fmt.Fprintln(w, "  no status: the members require a client certificate, and only the run that started the ensemble has one")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "  MEMBER\tADDRESS\tMODE\tVERSION\tZXID\tCONNECTIONS")
	for _, s := range ensembles.Status(ctx, r.Ensemble()) {
		if !s.Serves() {
			fmt.Fprintf(table, "  %s\t%s\tnot serving: %v\n", s.Member.Name, s.Member.Addr, s.Err)
			continue
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%#x\t%d\n", s.Member.Name, s.Member.Addr,
			s.Server.Mode, s.Server.Version, s.Server.Zxid, s.Server.Connections)
	}
	return table.Flush()
}

func ownership(r state.Record) string {
	switch {
	case r.Keep:
		return "kept"
	case r.Owner.Alive():
		return fmt.Sprintf("owned by process %d", r.Owner.PID)
	}
	return "left by a crashed run (zkbench ensemble down removes it)"
}

func ensembleDownCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the persistent ensemble and everything that crashed runs left behind",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return ensembleDown(cmd.Context(), cmd.OutOrStdout()) },
	}
}

func ensembleDown(ctx context.Context, w io.Writer) error {
	removed, err := auto.Sweep(ctx, true)
	for _, sweep := range []func() ([]string, error){sweepDrivers, sweepAgents} {
		more, moreErr := sweep()
		removed, err = append(removed, more...), errors.Join(err, moreErr)
	}
	for _, line := range removed {
		fmt.Fprintf(w, "removed %s\n", line)
	}
	left, listErr := state.List()
	for _, r := range left {
		why := "a run is using it"
		if r.Owner.Alive() {
			why = fmt.Sprintf("process %d owns it and is still running", r.Owner.PID)
		}
		fmt.Fprintf(w, "not removed: ensemble %s: %s\n", r.ID, why)
	}
	if len(removed) == 0 && err == nil {
		fmt.Fprintln(w, "nothing to remove")
	}
	return errors.Join(err, listErr)
}

func isFile(kind string) bool {
	return strings.HasSuffix(kind, ".yaml") || strings.HasSuffix(kind, ".yml")
}

// checkSecurity rejects options that only other kinds of ensembles support, and unknown security modes.
func checkSecurity(o ensembles.Options) error {
	if o.Chroot != "" {
		return usageError("--chroot is for external ensembles; zkbench uses the whole tree of its own ensembles")
	}
	for _, word := range o.Secure {
		if !slices.Contains(ensembles.SecurityModes, word) {
			return usageError("--secure %s: unknown value%s", word, units.Nearest(word, ensembles.SecurityModes))
		}
	}
	return nil
}

func dryRun(w io.Writer, configs []scenarios.Config) {
	for _, c := range configs {
		commands := c.Commands()
		if len(commands) == 0 {
			fmt.Fprintf(w, "%s: no command would be executed\n", c.Scenario.Name)
			continue
		}
		fmt.Fprintf(w, "%s: the run may execute these commands\n", c.Scenario.Name)
		for _, line := range commands {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
}
