package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
)

type runFlags struct {
	ensemble  ensembles.Options
	kind      string
	scenario  scenarioFlags
	live      live
	agents    agentFlags
	seed      uint64
	replay    string
	out       string
	force     bool
	quiet     bool
	watches   bool
	packed    bool // the scenario may come from another user's run
	dryRun    bool
	allowExec bool
	json      bool
}

func runCmd() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run NAME|FILE.yaml ...",
		Short: "Run scenarios and write a report",
		Example: `  zkbench run herd
  zkbench run herd --clients 10,50 --ensemble process --out herd-10-50
  zkbench run my-scenario.yaml --set phases.0.rounds=10 --seed 7`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if args, err = f.replayed(cmd, args); err != nil {
				return err
			}
			if len(args) == 0 {
				return usageError("run: name a scenario or a .yaml file, for example zkbench run herd (zkbench list scenarios lists them)")
			}
			return f.runAll(cmd, args)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *runFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.kind, "ensemble", "auto", "kind of ensemble: auto, container, process, external, or a FILE.yaml that describes an external one (zkbench help ensembles)")
	fl.StringSliceVar(&f.ensemble.Servers, "servers", nil, "external: client addresses host:port,...")
	fl.StringVar(&f.ensemble.Chroot, "chroot", "", "external: root of zkbench's own znodes (default /zkbench)")
	fl.BoolVar(&f.watches, "wchp", false, "external: allow zkbench to list all watches of the members, which is slow on members with many watches")
	fl.BoolVar(&f.dryRun, "dry-run", false, "external: print the commands that would be executed, and exit")
	fl.IntVar(&f.ensemble.Members, "members", 3, "number of voting members")
	fl.IntVar(&f.ensemble.Observers, "observers", 0, "container, process: number of additional members that only serve clients (observers)")
	fl.DurationVar(&f.ensemble.Tick, "tick", defaultTick, "ZooKeeper's tickTime")
	fl.StringSlice("image", nil, "container: image (default zookeeper:3.9, else the local one), or several versions, like zookeeper:3.8,zookeeper:3.9")
	fl.StringSlice("zookeeper-home", nil, "process: folder of a ZooKeeper distribution (default $ZOOKEEPER_HOME, else Debian's), or of several versions")
	fl.StringSliceVar(&f.ensemble.Secure, "secure", nil, "container, process: security of the members: tls, digest, or both (zkbench help ensembles)")
	f.scenario.register(fl)
	f.live.register(fl)
	f.agents.register(fl)
	fl.Uint64Var(&f.seed, "seed", 0, "decides every random choice (default: a new one, printed and stored)")
	fl.StringVar(&f.replay, "replay", "", "run the scenario of that run folder again, with the same faults at the same times")
	fl.StringVar(&f.out, "out", "", "run folder (default zkbench-out/SCENARIO-TIME)")
	fl.BoolVar(&f.allowExec, "allow-exec", false, "start the programs that a packed run, or a scenario file of another user, names")
	fl.BoolVar(&f.force, "force", false, "overwrite the contents of --out")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print no progress, only the summary")
	fl.BoolVar(&f.json, "json", false, "print result.json on stdout instead of the summary")
	completeFlags(cmd)
}

// runAll runs the named scenarios one after the other and returns the worst result.
func (f *runFlags) runAll(cmd *cobra.Command, names []string) (err error) {
	if f.out != "" && len(names) > 1 {
		return usageError("--out names one folder, but %d scenarios are to be run: run them one by one", len(names))
	}
	p := newProgress(cmd.ErrOrStderr(), f.quiet)
	configs, err := f.configs(names, p.log)
	if err = errors.Join(err, f.agents.check(configs)); err != nil {
		return usage(err)
	}
	if f.dryRun {
		return dryRun(cmd.OutOrStdout(), configs)
	}
	options := configs[0].First()
	options.Logf = p.log
	if err := auto.Enter(cmd.Context(), options, os.Args, f.live.handOver); err != nil {
		return err
	}
	if f.agents.engine == "" {
		if err := probeDrivers(configs); err != nil {
			return usage(err)
		}
	}
	stop, err := f.live.serve(p.log)
	if err != nil {
		return usage(err)
	}
	defer stop()
	fleet, dismiss, err := f.agents.muster(cmd.Context(), p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dismiss()) }()
	var errs []error
	for _, c := range configs {
		c.Agents, c.Relay = fleet, f.agents.relay
		err := f.runOne(cmd, c, p)
		if err != nil && err.Error() != "" && len(configs) > 1 {
			err = fmt.Errorf("%s: %w", c.Scenario.Name, err)
		}
		errs = append(errs, err)
		if cmd.Context().Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// configs returns the configurations of the runs, checked.
func (f *runFlags) configs(names []string, logf func(format string, args ...any)) ([]scenarios.Config, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	if options.Kind == ensembles.External && f.scenario.flags.Changed("tick") {
		return nil, usageError("--tick: an external ensemble has its own: leave it out")
	}
	options.Home = os.Getenv("ZOOKEEPER_HOME") // if neither a flag nor the scenario names one
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
		if err := f.checkPrograms(s, name, logf); err != nil {
			return nil, err
		}
		if err := f.placeDrivers(s); err != nil {
			return nil, err
		}
		c := scenarios.Config{Scenario: s, Ensemble: options, Seed: f.seed, Replay: f.replay, Versions: own}
		if program, err := os.Executable(); err == nil {
			c.Driver = []string{program, "driver"}
		}
		if err := c.Validate(); err != nil {
			return nil, err
		}
		configs = append(configs, c)
	}
	return configs, nil
}

func (f *runFlags) options() (ensembles.Options, error) {
	o := f.ensemble
	o.Kind = ensembles.Kind(f.kind)
	kinds := []string{"auto", "container", "process", "external"}
	if isFile(f.kind) {
		return f.theirs(o)
	}
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
	if err := checkSecurity(o, f.watches); err != nil {
		return o, err
	}
	o.Terms.Watches = f.watches
	if err := checkSize(o); err != nil {
		return o, err
	}
	if o.Observers > 0 && o.Kind == ensembles.External {
		return o, usageError("--observers is for --ensemble container or process; which members of an external one are observers is seen by their srvr")
	}
	if o.Kind == ensembles.External && !f.scenario.flags.Changed("members") {
		o.Members = 0 // as many as servers
	}
	if o.Kind == ensembles.External {
		return o, usage(external.Check(o))
	}
	return o, nil
}

// checkSize rejects invalid numbers of members and ticks.
func checkSize(o ensembles.Options) error {
	switch {
	case o.Members < 1 || o.Members > 9:
		return usageError("--members %d: must be between 1 and 9", o.Members)
	case o.Observers < 0 || o.Observers > 9:
		return usageError("--observers %d: must be between 0 and 9", o.Observers)
	case o.Tick < 100*time.Millisecond || o.Tick > time.Minute:
		return usageError("--tick %v: must be between 100ms and 1m", o.Tick)
	}
	return nil
}

// runOne runs one scenario and renders its report.
func (f *runFlags) runOne(cmd *cobra.Command, c scenarios.Config, p *progress) (err error) {
	dir, release, err := f.makeFolder(c.Scenario, time.Now())
	if err != nil {
		return err
	}
	defer release()
	c.Dir = dir
	c.Logf = p.log
	c.Progress = func(at scenarios.Status) { p.status(at); f.live.status(c.Scenario.Name, at) }
	c.Command = func(r report.Run) string { return f.command(absolute(c.Dir), c.Scenario, r) }
	many := slices.ContainsFunc(c.Scenario.Clients, func(n int) bool { return n >= manyClients })
	if many && os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(50))
	}
	result, err := scenarios.Run(cmd.Context(), c)
	p.done()
	if result.Result.Schema == "" { // not exercised
		return err
	}
	return errors.Join(err, f.conclude(cmd, c.Dir, c.Scenario, result))
}

// manyClients is the number of clients from which Go collects garbage twice as early: by default it
// allows as much garbage as live data, and go-zookeeper keeps the longest reply of each client, a
// list of all clients. GOGC overrides it.
const manyClients = 1000

// makeFolder creates the run folder and locks it for this process until release is called. It fails
// if the folder is not empty, or locked by another process.
func (f *runFlags) makeFolder(s *scenarios.Scenario, start time.Time) (dir string, release func(), err error) {
	if dir = f.out; dir == "" {
		if dir, err = newFolder(filepath.Join("zkbench-out", s.Name+"-"+start.Format("20060102-150405"))); err != nil {
			return "", nil, usage(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, usageError("--out %s: %v", dir, err)
	}
	if release, err = state.Keep(dir); err != nil {
		return "", nil, usageError("--out %s: %v: name another folder", dir, err)
	}
	if err := f.empty(dir); err != nil {
		release()
		return "", nil, err
	}
	return dir, release, nil
}

// newFolder creates the folder name, or name-2, name-3 and so on if another run has created it,
// and returns its path.
func newFolder(name string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	for i, dir := 2, name; ; i++ {
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = fmt.Sprintf("%s-%d", name, i)
	}
}

// empty checks that the folder is empty.
func (f *runFlags) empty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return usageError("--out %s: %v", dir, err)
	case len(entries) > 0 && !f.force:
		return usageError("--out %s is not empty: name another folder, or replace it with --force", dir)
	case len(entries) > 0:
		return usage(report.Clear(dir))
	}
	return nil
}
