package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes/driver/check"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
)

func subjectCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "subject",
		Short: "Validate a driver, a program around a recipe that is not built in",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subjectCheckCmd())
	return cmd
}

func subjectCheckCmd() *cobra.Command {
	f := runFlags{ensemble: ensembles.Options{}}
	var verbose bool
	cmd := &cobra.Command{
		Use:     "check -- PROGRAM ARGS",
		Short:   "Validate a driver against the protocol on a real ensemble",
		Example: "  zkbench subject check -- python3 driver.py",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("no driver given; put its command after --, for example: zkbench subject check -- python3 driver.py")
			}
			if _, err := exec.LookPath(args[0]); err != nil {
				return usageError("there is no driver to check: %v", err)
			}
			o, err := f.options()
			if err != nil {
				return err
			}
			if verbose {
				o.Logf = func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
			}
			if err := auto.Enter(cmd.Context(), o, os.Args, nothing); err != nil {
				return err
			}
			return checkSubject(cmd, args, o)
		},
	}
	fl := cmd.Flags()
	f.scenario.flags = fl
	fl.StringVar(&f.kind, "ensemble", "auto", "kind of ensemble: auto, container, process, external, or a FILE.yaml that describes an external one (zkbench help ensembles)")
	fl.StringSliceVar(&f.ensemble.Servers, "servers", nil, "external: client addresses host:port,...")
	fl.StringVar(&f.ensemble.Chroot, "chroot", "", "external: root of zkbench's own znodes (default /zkbench)")
	fl.IntVar(&f.ensemble.Members, "members", 1, "number of members")
	fl.DurationVar(&f.ensemble.Tick, "tick", 500*time.Millisecond, "ZooKeeper's tickTime")
	fl.StringSliceVar(&f.ensemble.Secure, "secure", nil, "container, process: security of the members: tls, digest, or both (zkbench help ensembles)")
	fl.BoolVarP(&verbose, "verbose", "v", false, "log what the ensemble does")
	return cmd
}

func checkSubject(cmd *cobra.Command, args []string, o ensembles.Options) error {
	if err := host.Probe(host.Command{Name: args[0], Args: args}, state.Self().String()); errors.Is(err, host.ErrExited) {
		return usage(err)
	}
	dir, err := os.MkdirTemp("", "zkbench-driver-")
	if err != nil {
		return err
	}
	stderr, count := filepath.Join(dir, "stderr"), map[string]int{}
	err = scenarios.CheckDriver(cmd.Context(), args, o, stderr, func(s check.Step) {
		count[s.Result]++
		showStep(cmd.OutOrStdout(), s)
	})
	printed, _ := os.Stat(stderr)
	if count[check.Wrong] > 0 && printed != nil && printed.Size() > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "the driver's output is in %s\n", stderr)
	} else {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	switch {
	case count[check.Wrong] > 0:
		return errors.Join(coded{fmt.Errorf("the driver breaks %s of the protocol (zkbench help drivers)", units.Plural(count[check.Wrong], "rule")), exitBroken}, err)
	case err != nil || count[check.Unknown] > 0:
		return errors.Join(fmt.Errorf("not everything could be checked"), err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "the driver keeps %s; not offered: %d\n", units.Plural(count[check.OK], "rule"), count[check.NotOffered])
	return nil
}

func showStep(w io.Writer, s check.Step) {
	fmt.Fprintf(w, "%-12s %s", s.Result, s.Name)
	if s.Why != "" && s.Result != check.Wrong {
		fmt.Fprintf(w, ": %s", s.Why)
	}
	fmt.Fprintln(w)
	if s.Result != check.Wrong {
		return
	}
	fmt.Fprintf(w, "    rule: %s\n    but:  %s\n", s.Rule, s.Why)
	for _, line := range s.Exchange {
		fmt.Fprintf(w, "      %s\n", line)
	}
}
