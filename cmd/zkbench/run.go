package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
)

// runFlags are the flags of zkbench run.
type runFlags struct {
	ensemble ensembles.Options
	kind     string
	scenario scenarioFlags
	live     live
	seed     uint64
	replay   string
	out      string
	force    bool
	quiet    bool
	json     bool
}

func runCmd() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run NAME|FILE.yaml ...",
		Short: "Run scenarios, print progress and a summary, write a run folder",
		Example: `  zkbench run herd
  zkbench run herd --clients 10,50 --ensemble process --out herd-10-50
  zkbench run my-scenario.yaml --set phases.0.rounds=10 --seed 7`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if args, err = f.replayed(cmd, args); err != nil {
				return err
			}
			if len(args) == 0 {
				return usageError("run what? name a scenario%s, or a .yaml file", units.Nearest("", scenarios.Builtin()))
			}
			return f.runAll(cmd, args)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *runFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.kind, "ensemble", "auto", "where to run: auto, container, process or external")
	fl.StringSliceVar(&f.ensemble.Servers, "servers", nil, "external: client addresses host:port,...")
	fl.StringVar(&f.ensemble.Chroot, "chroot", "", "external: our part of the tree (default /zkbench)")
	fl.IntVar(&f.ensemble.Members, "members", 3, "number of members")
	fl.DurationVar(&f.ensemble.Tick, "tick", defaultTick, "ZooKeeper's tickTime")
	fl.StringVar(&f.ensemble.Image, "image", "", "container: image (default zookeeper:3.9, else the local one)")
	fl.StringVar(&f.ensemble.Home, "zookeeper-home", os.Getenv("ZOOKEEPER_HOME"), "process: a ZooKeeper distribution (default $ZOOKEEPER_HOME, else Debian's)")
	f.scenario.register(fl)
	f.live.register(fl)
	fl.Uint64Var(&f.seed, "seed", 0, "decides every random choice (default: a new one, printed and stored)")
	fl.StringVar(&f.replay, "replay", "", "run the scenario of that run folder again, with the same faults at the same times")
	fl.StringVar(&f.out, "out", "", "run folder (default zkbench-out/SCENARIO-TIME)")
	fl.BoolVar(&f.force, "force", false, "replace what is in --out")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print no progress, only the summary")
	fl.BoolVar(&f.json, "json", false, "print result.json on stdout instead of the summary")
}

// runAll runs the named scenarios one after the other and returns the worst result.
func (f *runFlags) runAll(cmd *cobra.Command, names []string) error {
	if f.out != "" && len(names) > 1 {
		return usageError("--out names one folder, but %d scenarios are to be run: run them one by one", len(names))
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	var loaded []*scenarios.Scenario
	for _, name := range names {
		s, err := f.scenario.load(name)
		if err == nil {
			err = refuseTick(s, opts)
		}
		if err == nil {
			err = f.checkReplay(s)
		}
		if err != nil {
			return usage(err)
		}
		loaded = append(loaded, s)
	}
	if f.seed == 0 {
		f.seed = uint64(time.Now().UnixNano())
	}
	p := newProgress(cmd.ErrOrStderr(), f.quiet)
	stop, err := f.live.serve(p.log)
	if err != nil {
		return usage(err)
	}
	defer stop()
	var worst error
	for _, s := range loaded {
		if err := f.runOne(cmd, s, opts, p); severity(err) > severity(worst) {
			worst = err
		}
		if cmd.Context().Err() != nil {
			break
		}
	}
	return worst
}

// refuseTick refuses a tick for somebody else's ensemble, which has its own.
func refuseTick(s *scenarios.Scenario, o ensembles.Options) error {
	if _, varied := s.Matrix["tick"]; o.Kind == ensembles.External && (varied || s.Tick > 0) {
		return fmt.Errorf("%s sets the tick, and an external ensemble has its own; leave --tick out, and of the scenario with --set tick=0s", s.Name)
	}
	return nil
}

// severity orders results: a broken guarantee is worse than an unknown.
func severity(err error) int {
	switch codeOf(err) {
	case exitOK:
		return 0
	case exitBroken:
		return 2
	}
	return 1
}

// options checks the flags that describe the ensemble.
func (f *runFlags) options() (ensembles.Options, error) {
	o := f.ensemble
	kinds := []string{"auto", "container", "process", "external"}
	for _, k := range kinds {
		if k == f.kind {
			o.Kind = ensembles.Kind(k)
		}
	}
	switch {
	case o.Kind == "":
		return o, usageError("--ensemble %s: no such kind%s", f.kind, units.Nearest(f.kind, kinds))
	case len(o.Servers) > 0 && o.Kind == ensembles.Auto:
		o.Kind = ensembles.External
	case len(o.Servers) > 0 && o.Kind != ensembles.External:
		return o, usageError("--servers goes with --ensemble external, not %s", o.Kind)
	case len(o.Servers) == 0 && o.Kind == ensembles.External:
		return o, usageError("--ensemble external needs --servers host:port,...")
	}
	if o.Members < 1 || o.Members > 9 {
		return o, usageError("--members %d: must be between 1 and 9", o.Members)
	}
	if o.Tick < 100*time.Millisecond || o.Tick > time.Minute {
		return o, usageError("--tick %v: must be between 100ms and 1m", o.Tick)
	}
	return o, nil
}

// runOne runs one scenario from an empty folder to a drawn report.
func (f *runFlags) runOne(cmd *cobra.Command, s *scenarios.Scenario, o ensembles.Options, p *progress) error {
	ctx := cmd.Context()
	o.Logf = p.log
	start := time.Now()
	dir, err := f.makeFolder(s, start)
	if err != nil {
		return err
	}
	if err := writeScenario(dir, s); err != nil {
		return err
	}
	r := report.Run{
		ID: filepath.Base(dir), Scenario: s.Name, Seed: f.seed, Start: start.UTC(),
		Host: hostFacts(), Versions: map[string]string{},
	}
	for _, v := range versions() {
		r.Versions[v[0]] = v[1]
	}
	runErr := f.execute(ctx, s, o, dir, &r, p)
	p.done()
	if wrong := (coded{}); errors.As(runErr, &wrong) && wrong.code == exitUsage {
		return runErr // nothing was run
	}
	r.Elapsed, r.Command = time.Since(start), f.command(dir, s, r.Ensemble)
	switch {
	case ctx.Err() != nil:
		r.Ended = "interrupted"
	case runErr != nil:
		r.Ended = runErr.Error()
	}
	return errors.Join(runErr, f.conclude(cmd, dir, r))
}

// execute runs every batch of the scenario's trials, each on an ensemble of its own.
func (f *runFlags) execute(ctx context.Context, s *scenarios.Scenario, o ensembles.Options, dir string, r *report.Run, p *progress) error {
	batches, err := s.Batches()
	if err != nil {
		return usage(err)
	}
	before, course := 0, scenarios.NewCourse(batches)
	for _, b := range batches {
		o, logs := o, filepath.Join(dir, report.EnsembleDir)
		if b.Tick > 0 {
			o.Tick = b.Tick
		}
		if len(batches) > 1 {
			logs = filepath.Join(logs, "tick-"+o.Tick.String())
		}
		err := f.withEnsemble(ctx, s, o, logs, r, p, func(lab *scenarios.Lab) error {
			lab.Dir, lab.Replay, lab.Course = dir, f.replay, course
			lab.Progress = func(at scenarios.Status) { p.status(at); f.live.status(s.Name, at) }
			return lab.Run(ctx, s, b, before, course.Trials())
		})
		if err != nil {
			return err
		}
		before += len(b.Cells)
	}
	if len(batches) > 1 {
		r.Ensemble.Tick = 0 // there were several; each trial names its own
	}
	return nil
}

// withEnsemble brings an ensemble up, has the trials run on it, saves what its
// members have to say to logs, and takes it down again.
func (f *runFlags) withEnsemble(ctx context.Context, s *scenarios.Scenario, o ensembles.Options, logs string, r *report.Run, p *progress, trials func(*scenarios.Lab) error) (err error) {
	e, err := auto.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(e, logs)) }()
	r.Ensemble = report.Ensemble{Kind: string(e.Kind), About: e.About, Members: len(e.Members), Tick: e.Tick}
	r.Versions["zookeeper"] = e.Version
	p.log("ensemble: %s, %d members (%s)", e.Kind, len(e.Members), e.About)
	if err := refuseFaults(s, e); err != nil {
		return err
	}
	network, err := chaos.NewNetwork(ctx, e)
	switch {
	case errors.Is(err, chaos.ErrSkipped):
		p.log("network faults: %v", err)
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, limited(network.Close)) }()
	}
	return trials(&scenarios.Lab{Ensemble: e, Network: network, RunID: e.ID + "-" + r.Start.Format("150405"), Seed: f.seed})
}

// down saves what the members have to say and takes the ensemble down.
func down(e *ensembles.Ensemble, logs string) error {
	return limited(func(ctx context.Context) error {
		errs := []error{os.MkdirAll(logs, 0o755)}
		for _, m := range e.Members {
			if m.Machine != nil {
				errs = append(errs, m.Machine.Save(ctx, logs))
			}
		}
		return errors.Join(append(errs, e.Down(ctx))...)
	})
}

// limited runs a clean-up that must happen although the run may be cancelled.
func limited(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return f(ctx)
}

// refuseFaults says before the run which faults an ensemble of somebody else's
// cannot have.
func refuseFaults(s *scenarios.Scenario, e *ensembles.Ensemble) error {
	if e.Kind != ensembles.External {
		return nil
	}
	for i, p := range s.Phases {
		if faults := p.MemberFaults(); len(faults) > 0 {
			leave := "faults=[]"
			if p.Kind == scenarios.Failover {
				leave = "rounds=0"
			}
			return usageError("phases.%d (%s): %s would touch a member, and an external ensemble is not ours to touch; leave it out: --set phases.%d.%s",
				i, p.Name, strings.Join(faults, ", "), i, leave)
		}
	}
	return nil
}

func writeScenario(dir string, s *scenarios.Scenario) error {
	text, err := s.Dump()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "scenario.yaml"), text, 0o644)
}

// makeFolder makes the run folder, and refuses one that is not empty.
func (f *runFlags) makeFolder(s *scenarios.Scenario, start time.Time) (string, error) {
	dir := f.out
	if dir == "" {
		dir = filepath.Join("zkbench-out", s.Name+"-"+start.Format("20060102-150405"))
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0 && !f.force:
		return "", usageError("--out %s is not empty: name another folder, or replace it with --force", dir)
	case err == nil && f.force:
		if err := report.Clear(dir); err != nil {
			return "", usage(err)
		}
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", usageError("--out %s: %v", dir, err)
	}
	for _, part := range []string{"ensemble", report.HistoryDir} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o755); err != nil {
			return "", usageError("--out %s: %v", dir, err)
		}
	}
	return dir, nil
}
