// Gallery generates docs/gallery: the reports of real runs of the built-in scenarios, and the page
// "ZooKeeper recipes, measured". make gallery runs it.
//
//	go run ./cmd/zkbench/gallery              # runs everything, 20 to 35 minutes on a quiet machine with two cores
//	go run ./cmd/zkbench/gallery herd audit   # runs these; the others are rendered from their last run
//	go run ./cmd/zkbench/gallery -audits      # runs audits of installed versions of other recipes, some two minutes each
//	go run ./cmd/zkbench/gallery -draw        # runs nothing
//
// The run folders stay in zkbench-out/gallery, which is not committed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	_ "github.com/zkbench/zkbench/recipes/foreign" // subjects of scenarios
	_ "github.com/zkbench/zkbench/scenarios"       // kinds of phase
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/zkbench/zkbench/recipes/zoo"
	"github.com/zkbench/zkbench/scenarios/spec"
	"golang.org/x/sync/errgroup"
)

const seed = 1

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fl := flag.NewFlagSet("gallery", flag.ContinueOnError)
	program := fl.String("zkbench", "bin/zkbench", "path of the zkbench program")
	runs := fl.String("runs", "zkbench-out/gallery", "folder of the run folders")
	out := fl.String("out", "docs/gallery", "folder for the pages")
	draw := fl.Bool("draw", false, "run nothing: render the pages again from the last runs")
	audit := fl.Bool("audits", false, "run only the audits of recipes of other projects, in every version that is installed")
	if err := fl.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(fl.Args())
	if err != nil {
		return err
	}
	switch {
	case *audit:
		err = runAudits(ctx, *program, *runs)
	case !*draw:
		err = runAll(ctx, chosen, *program, *runs)
	}
	if err != nil {
		return err
	}
	return drawAll(*runs, *out)
}

// maxParallel is the number of patient exhibits that run in parallel.
const maxParallel = 3

func runAll(ctx context.Context, all []exhibit, program, runs string) error {
	slices.SortStableFunc(all, func(a, b exhibit) int { return a.rank() - b.rank() })
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParallel)
	for _, e := range all {
		if e.rank() >= 0 {
			g.Go(func() error { return e.runScenario(ctx, program, runs) })
		} else if err := e.runScenario(ctx, program, runs); err != nil {
			return err
		}
	}
	return g.Wait()
}

func choose(names []string) (out []exhibit, err error) {
	all := exhibits()
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(e exhibit) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("the gallery has no %s", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func (e exhibit) runScenario(ctx context.Context, program, runs string) error {
	return runZkbench(ctx, program, e.name, append(e.args(), "--quiet", "--force", "--out", filepath.Join(runs, e.folder())))
}

// runZkbench runs zkbench. Failed and unknown results (exit codes 1 and 3) are not errors.
func runZkbench(ctx context.Context, program, name string, args []string) error {
	start := time.Now()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // zkbench heals faults and stops the ensemble
	said, err := cmd.CombinedOutput()
	code := cmd.ProcessState.ExitCode()
	var ended *exec.ExitError
	if err != nil && !(errors.As(err, &ended) && (code == 1 || code == 3)) || ctx.Err() != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said)
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	fmt.Printf("%-34s %5.0fs  exit code %d  %s\n", name, time.Since(start).Seconds(), code, lines[len(lines)-1])
	return nil
}

type exhibit struct {
	name string   // of the scenario
	set  []string // its overrides: path=value
}

// small has the overrides, by scenario, that make a run small enough for the gallery.
var small = map[string][]string{
	"herd":          {"phases.1.duration=8s"},
	"herd-election": {"clients=[25]", "phases.2.duration=5s"},
	"herd-queue":    {"clients=[25]", "phases.2.duration=5s"},
	"queue":         {"clients=[4]"},
	"failover":      {"phases.0.rounds=5", "phases.1.rounds=3", "phases.2.rounds=3", "phases.3.rounds=5", "phases.4.rounds=3", "phases.5.rounds=2", "phases.6.rounds=2"},
	"flap":          {"clients=[5, 25]", "phases.0.rounds=5"},
	"churn":         {"clients=[10]", "subjects=[lock/predecessor]"},
	"partition":     {"subjects=[lock/predecessor]"},
	"rolling":       {"subjects=[lock/predecessor]"},
	"succession":    {"subjects=[election/predecessor]"},
	"audit":         {"subjects=[lock/predecessor, lock/go-zookeeper]"},
	"ci":            {"trials=20", "budget=40s"},
	"paused-holder": {"subjects=[lock/predecessor, election/predecessor, lock/go-zookeeper, lock/curator, lock/kazoo]"},
}

// untimed are the scenarios that mostly wait for sessions to expire, so that a few may run in parallel,
// the longest first. They test safety, not speed.
var untimed = []string{"audit", "zoo", "partition", "rolling", "succession", "flap"}

// rank returns the place of the exhibit among those that run in parallel: the patient ones, then the
// incidents. It is -1 if times are measured, so that the exhibit runs alone, before these.
func (e exhibit) rank() int {
	if strings.HasPrefix(e.name, "incident/") {
		return len(untimed)
	}
	return slices.Index(untimed, e.name)
}

// exhibits returns all runs of the gallery in order: every built-in scenario and incident, except
// upgrade, which needs two versions of ZooKeeper.
func exhibits() (out []exhibit) {
	for _, name := range append(spec.Builtin(), spec.Incidents()...) {
		if name != "upgrade" {
			out = append(out, exhibit{name, small[name]})
		}
	}
	return out
}

func (e exhibit) folder() string { return strings.ReplaceAll(e.name, "/", "-") }

func (e exhibit) args() []string {
	out := []string{"run", e.name}
	for _, s := range e.set {
		out = append(out, "--set", s)
	}
	return append(out, "--seed", strconv.Itoa(seed))
}

func (e exhibit) command() string {
	command := "zkbench"
	for _, w := range e.args() {
		if strings.ContainsAny(w, "[ ") {
			w = "'" + w + "'"
		}
		command += " " + w
	}
	return command
}

func (e exhibit) load() (*spec.Scenario, error) {
	name, text, err := spec.Source(e.name)
	if err != nil {
		return nil, err
	}
	return spec.Load(name, text, e.set...)
}
