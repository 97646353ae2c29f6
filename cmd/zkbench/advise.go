package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/scenarios/phases"
)

func adviseCmd() *cobra.Command {
	var o phases.AdviceOptions
	var pauses []string
	var members int
	var check, asJSON bool
	cmd := &cobra.Command{
		Use:   "advise --promise TIME",
		Short: "Compute the session timeout for a promised failover time",
		Long:  page("advise"),
		Example: `  zkbench advise --promise 15s
  zkbench advise --promise 15s --tick 1s --pause 3s:4 --pause 8s:0.1
  zkbench advise --promise 10s --tick 500ms --election --check`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.Promise <= 0:
				return usageError("--promise is required: the longest time from a crash of the holder to the next grant, for example 15s")
			case o.Promise > 24*time.Hour:
				return usageError("--promise %v: want at most 24h", o.Promise)
			case o.Tick < 100*time.Millisecond || o.Tick > time.Minute:
				return usageError("--tick %v: want 100ms to 1m", o.Tick)
			case o.Slack < 0 || o.Slack == 0 && cmd.Flags().Changed("slack") || o.Slack >= o.Promise:
				return usageError("--slack %v: want more than 0, and less than the promise (%v)", o.Slack, o.Promise)
			case members < 1 || members > 9 || members%2 == 0 || members == 1 && o.Election:
				return usageError("--members %d: want an odd number from 1 to 9; with --election from 3", members)
			}
			for _, text := range pauses {
				p, err := parsePause(text)
				if err != nil {
					return usage(err)
				}
				o.Pauses = append(o.Pauses, p)
			}
			a, err := phases.Advise(o)
			if err != nil {
				return exitError{err, exitBroken}
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), a)
			} else {
				err = printAdvice(cmd.OutOrStdout(), o, a, members)
			}
			if err != nil || !check {
				return err
			}
			return runFailover(cmd, o, a, members)
		},
	}
	fl := cmd.Flags()
	fl.DurationVar(&o.Promise, "promise", 0, "longest time from a crash of the holder to the next grant (required)")
	fl.DurationVar(&o.Tick, "tick", 2*time.Second, "tickTime of the servers")
	fl.DurationVar(&o.Slack, "slack", 0, "total time of a commit, a notification and a list request (default 500ms)")
	fl.BoolVar(&o.Election, "election", false, "the promise must also hold if the ensemble's leader fails at the same time")
	fl.StringArrayVar(&pauses, "pause", nil, "expected pauses of a client's process: DURATION:PER_HOUR, for example 3s:4; may be repeated")
	fl.IntVar(&members, "members", 3, "number of voting members")
	fl.BoolVar(&check, "check", false, "run the failover scenario with these values, on a new ensemble")
	fl.BoolVar(&asJSON, "json", false, "print the advice as JSON")
	return cmd
}

func parsePause(text string) (phases.Pause, error) {
	length, rate, _ := strings.Cut(text, ":")
	d, err := time.ParseDuration(length)
	n, err2 := strconv.ParseFloat(rate, 64)
	if err != nil || err2 != nil || d <= 0 || !(n >= 0 && n*d.Hours() < 1) {
		return phases.Pause{}, fmt.Errorf("--pause %s: want DURATION:PER_HOUR, for example 3s:4, in total less than an hour per hour", text)
	}
	return phases.Pause{For: d, PerHour: n}, nil
}

//go:embed advice.tmpl
var adviceText string

var adviceTemplate = template.Must(template.New("advice").Funcs(template.FuncMap{
	"round": func(d time.Duration) time.Duration { return d.Round(time.Millisecond) },
}).Parse(adviceText))

func printAdvice(w io.Writer, o phases.AdviceOptions, a phases.Advice, members int) error {
	return adviceTemplate.Execute(w, struct {
		phases.Advice
		Options           phases.AdviceOptions
		Members, Failures int
		Longest           bool // that servers grant by default
		Command           string
	}{a, o, members, (members - 1) / 2, a.Timeout == 20*a.Tick, "zkbench " + strings.Join(failoverArgs(o, a, members), " ")})
}

func failoverArgs(o phases.AdviceOptions, a phases.Advice, members int) []string {
	return []string{"run", "failover", "--tick", a.Tick.String(), "--session-timeout", a.Timeout.String(), "--members", strconv.Itoa(members), "--set", "params.promise=" + o.Promise.String()}
}

func runFailover(cmd *cobra.Command, o phases.AdviceOptions, a phases.Advice, members int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	run := exec.CommandContext(cmd.Context(), self, failoverArgs(o, a, members)...)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGTERM) }
	err = run.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitError{errors.New("the failover scenario did not pass"), exit.ExitCode()}
	}
	return err
}
