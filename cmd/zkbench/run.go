package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
)

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
	configs, err := f.configs(names)
	if err != nil {
		return usage(err)
	}
	p := newProgress(cmd.ErrOrStderr(), f.quiet)
	stop, err := f.live.serve(p.log)
	if err != nil {
		return usage(err)
	}
	defer stop()
	var worst error
	for _, c := range configs {
		if err := f.runOne(cmd, c, p); severity(err) > severity(worst) {
			worst = err
		}
		if cmd.Context().Err() != nil {
			break
		}
	}
	return worst
}

// configs is what is to be run, checked before anything starts.
func (f *runFlags) configs(names []string) ([]scenarios.Config, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	if f.seed == 0 {
		f.seed = uint64(time.Now().UnixNano())
	}
	own := map[string]string{}
	for _, v := range versions() {
		own[v[0]] = v[1]
	}
	var configs []scenarios.Config
	for _, name := range names {
		s, err := f.scenario.load(name)
		if err != nil {
			return nil, err
		}
		c := scenarios.Config{Scenario: s, Ensemble: options, Seed: f.seed, Replay: f.replay, Versions: own}
		if err := c.Validate(); err != nil {
			return nil, err
		}
		configs = append(configs, c)
	}
	return configs, nil
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

func (f *runFlags) options() (ensembles.Options, error) {
	o := f.ensemble
	o.Kind = ensembles.Kind(f.kind)
	kinds := []string{"auto", "container", "process", "external"}
	switch {
	case !slices.Contains(kinds, f.kind):
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
func (f *runFlags) runOne(cmd *cobra.Command, c scenarios.Config, p *progress) (err error) {
	if c.Dir, err = f.makeFolder(c.Scenario, time.Now()); err != nil {
		return err
	}
	c.Logf = p.log
	c.Progress = func(at scenarios.Status) { p.status(at); f.live.status(c.Scenario.Name, at) }
	c.Command = func(r report.Run) string { return f.command(c.Dir, c.Scenario, r) }
	result, err := scenarios.Run(cmd.Context(), c)
	p.done()
	if result.Result.Schema == "" { // nothing was judged
		return err
	}
	return errors.Join(err, f.conclude(cmd, c.Dir, result))
}

// makeFolder makes the run folder, and refuses one that is not empty.
func (f *runFlags) makeFolder(s *scenarios.Scenario, start time.Time) (string, error) {
	dir := cmp.Or(f.out, filepath.Join("zkbench-out", s.Name+"-"+start.Format("20060102-150405")))
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0 && !f.force:
		return "", usageError("--out %s is not empty: name another folder, or replace it with --force", dir)
	case err == nil && f.force:
		if err := report.Clear(dir); err != nil {
			return "", usage(err)
		}
	case errors.Is(err, os.ErrNotExist):
		err = nil
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return "", usageError("--out %s: %v", dir, err)
	}
	return dir, nil
}
