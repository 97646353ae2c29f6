package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/spec"
	"golang.org/x/term"
)

type runFlags struct {
	ensemble  ensembles.Options
	kind      string
	scenario  scenarioFlags
	agents    agentFlags
	seed      uint64
	out       string
	force     bool
	quiet     bool
	json      bool
	untrusted bool // the scenario may come from a run of another user
	dryRun    bool
	allowExec bool
}

func runCmd() *cobra.Command {
	var f runFlags
	var replay string
	cmd := &cobra.Command{
		Use:   "run NAME|FILE.yaml ...",
		Short: "Run scenarios and write a report",
		Example: `  zkbench run herd
  zkbench run herd --clients 10,50 --ensemble process --out herd-10-50
  zkbench run my-scenario.yaml --set phases.0.rounds=10 --seed 7`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case replay != "" && len(args) > 0:
				return usageError("--replay determines the scenario: remove %s", args[0])
			case replay != "" && cmd.Flags().Changed("seed"):
				return usageError("--replay uses the recorded seed: remove --seed")
			case replay != "":
				return f.rerun(cmd, replay, false)
			case len(args) == 0:
				return usageError("run: name a scenario or a .yaml file, for example zkbench run herd (zkbench list scenarios lists them)")
			}
			return f.runAll(cmd, args)
		},
	}
	fl := cmd.Flags()
	f.register(fl)
	f.registerSettings(fl)
	f.scenario.registerMatrix(fl)
	fl.StringVar(&replay, "replay", "", "run the scenario of a run folder again, with the same faults at the same times (zkbench rerun)")
	return cmd
}

func (f *runFlags) register(fl *pflag.FlagSet) {
	f.registerEnsemble(fl, defaultTick)
	fl.BoolVar(&f.dryRun, "dry-run", false, "external: print the commands that would be executed, and exit")
	fl.IntVar(&f.ensemble.Members, "members", 3, "number of voting members")
	fl.IntVar(&f.ensemble.Observers, "observers", 0, "container, process: number of additional members that only serve clients (observers)")
	fl.StringSlice("image", nil, "container: image (default zookeeper:3.9, else a locally built image), or several versions, like zookeeper:3.8,zookeeper:3.9")
	fl.StringSlice("zookeeper-home", nil, "process: folder of a ZooKeeper distribution (default $ZOOKEEPER_HOME, else Debian's), or of several versions")
	f.scenario.register(fl)
	f.agents.register(fl)
	fl.StringVar(&f.out, "out", "", "run folder (default zkbench-out/SCENARIO-TIME)")
	fl.BoolVar(&f.allowExec, "allow-exec", false, "start the programs named in a packed run or in a scenario file of another user")
	fl.BoolVar(&f.force, "force", false, "overwrite the contents of --out")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print no progress, only the summary")
	fl.BoolVar(&f.json, "json", false, "print result.json on stdout instead of the summary")
}

func (f *runFlags) registerSettings(fl *pflag.FlagSet) {
	fl.Uint64Var(&f.seed, "seed", 0, "seed of every random choice (default: a new seed, printed and stored)")
	fl.Duration("session-timeout", 0, "session timeout to request")
	fl.Duration("hold", 0, "how long a holder keeps the grant, in every phase")
}

func (f *runFlags) registerEnsemble(fl *pflag.FlagSet, tick time.Duration) {
	fl.StringVar(&f.kind, "ensemble", "auto", "kind of ensemble: auto, container, process, external, or a FILE.yaml that describes an external one (zkbench help ensembles)")
	fl.StringSliceVar(&f.ensemble.Servers, "servers", nil, "external: client addresses host:port,...")
	fl.StringVar(&f.ensemble.Chroot, "chroot", "", "external: root of zkbench's own znodes (default /zkbench)")
	fl.DurationVar(&f.ensemble.Tick, "tick", tick, "ZooKeeper's tickTime")
	fl.StringSliceVar(&f.ensemble.Secure, "secure", nil, "container, process: security of the members: tls, digest, or both (zkbench help ensembles)")
}

func (f *runFlags) runAll(cmd *cobra.Command, names []string) (err error) {
	if f.out != "" && len(names) > 1 {
		return usageError("--out names one folder for %d scenarios: run them one by one", len(names))
	}
	p := newProgress(cmd.ErrOrStderr(), f.quiet)
	configs, err := f.configs(names, p.log)
	if err = errors.Join(err, f.agents.check(configs)); err != nil {
		return usage(err)
	}
	if f.dryRun {
		dryRun(cmd.OutOrStdout(), configs)
		return nil
	}
	options := configs[0].FirstOptions()
	options.Logf = p.log
	if err := auto.Enter(cmd.Context(), options, os.Args); err != nil {
		return err
	}
	if len(options.Servers) > 0 {
		options.Logf = nil
		if _, err := external.Start(cmd.Context(), options); err != nil {
			return usage(err)
		}
	}
	if f.agents.engine == "" {
		if err := probeDrivers(configs); err != nil {
			return usage(err)
		}
	}
	fleet, stopAgents, err := f.agents.start(cmd.Context(), p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAgents()) }()
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

func (f *runFlags) configs(names []string, logf func(format string, args ...any)) ([]scenarios.Config, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	options.Home = os.Getenv("ZOOKEEPER_HOME") // used if neither a flag nor the scenario names a distribution
	if f.seed == 0 {
		f.seed = uint64(time.Now().UnixNano())
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
		c := scenarios.Config{Scenario: s, Ensemble: options, Seed: f.seed, Versions: versions()}
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
	switch file := isFile(f.kind); {
	case file && (len(o.Servers) > 0 || len(o.Secure) > 0):
		return o, usageError("--ensemble %s describes the servers and their security; remove --servers and --secure", f.kind)
	case file:
		loaded, err := external.Load(f.kind)
		if err != nil {
			return o, usage(err)
		}
		o.Kind, o.Servers, o.External = loaded.Kind, loaded.Servers, loaded.External
		o.Chroot = cmp.Or(o.Chroot, loaded.Chroot)
	case !slices.Contains(kinds, f.kind):
		return o, usageError("--ensemble %s: no such kind%s", f.kind, units.Nearest(f.kind, kinds))
	case len(o.Servers) > 0 && o.Kind == ensembles.Auto:
		o.Kind = ensembles.External
	case len(o.Servers) > 0 && o.Kind != ensembles.External:
		return o, usageError("--servers requires --ensemble external, not %s", o.Kind)
	case len(o.Servers) == 0 && o.Kind == ensembles.External:
		return o, usageError("--ensemble external needs --servers host:port,...")
	}
	if o.Kind != ensembles.External {
		return o, cmp.Or(checkSize(o), checkSecurity(o))
	}
	switch {
	case len(o.Secure) > 0:
		return o, usageError("--secure requires --ensemble container or process; the security of an external ensemble is described in its file: --ensemble FILE.yaml (zkbench help ensembles)")
	case o.Observers != 0:
		return o, usageError("--observers requires --ensemble container or process; zkbench finds the observers of an external ensemble by the command srvr")
	case f.scenario.flags.Changed("tick"):
		return o, usageError("--tick cannot be set for an external ensemble: remove it")
	case !f.scenario.flags.Changed("members"):
		o.Members = 0 // one for each server
	}
	return o, usage(external.Check(o))
}

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

func (f *runFlags) runOne(cmd *cobra.Command, c scenarios.Config, p *progress) (err error) {
	dir, release, err := f.makeFolder(c.Scenario)
	if err != nil {
		return err
	}
	defer release()
	c.Dir, c.Logf, c.Progress = dir, p.log, p.status
	c.Command = f.command(c.Dir)
	many := slices.ContainsFunc(c.Scenario.Clients, func(n int) bool { return n >= manyClients })
	if many && os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(50))
	}
	result, err := scenarios.Run(cmd.Context(), c)
	p.done()
	if result.Result.Schema == "" { // the run has no result
		return err
	}
	return errors.Join(err, f.conclude(cmd, c.Dir, c.Scenario, result))
}

// manyClients is the number of clients from which GOGC is 50 instead of 100, to save memory: go-zookeeper keeps the
// longest reply of each client, a list of all clients. The environment variable GOGC overrides this.
const manyClients = 1000

// makeFolder creates the run folder and locks it until release is called. It returns an error if another
// process has locked the folder, or if it is not empty and --force is not set.
func (f *runFlags) makeFolder(s *spec.Scenario) (dir string, release func(), err error) {
	if dir = f.out; dir == "" {
		if dir, err = newFolder(s.Name); err != nil {
			return "", nil, usage(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, usageError("--out %s: %v", dir, err)
	}
	if release, err = state.LockDir(dir); err != nil {
		return "", nil, usageError("--out %s: %v: name another folder", dir, err)
	}
	if err := f.clearFolder(dir); err != nil {
		release()
		return "", nil, err
	}
	return dir, release, nil
}

// newFolder creates the folder zkbench-out/NAME-TIME, or if it exists, NAME-TIME-2, NAME-TIME-3 and so on.
func newFolder(name string) (string, error) {
	name = filepath.Join("zkbench-out", name+"-"+time.Now().Format("20060102-150405"))
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

func (f *runFlags) clearFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return usageError("--out %s: %v", dir, err)
	case len(entries) > 0 && !f.force:
		return usageError("--out %s is not empty: name another folder, or overwrite it with --force", dir)
	case len(entries) > 0:
		return usage(report.Clear(dir))
	}
	return nil
}

type scenarioFlags struct {
	flags  *pflag.FlagSet
	trials int
	ab     []string
	set    []string
	exec   []string
}

func (f *scenarioFlags) register(fl *pflag.FlagSet) {
	f.flags = fl
	fl.StringArrayVar(&f.exec, "exec", nil, "command of a driver: 'lock/mine=python3 driver.py' (repeatable; zkbench help drivers)")
	fl.StringArrayVar(&f.set, "set", nil, "set a field of the scenario: path=value, for example phases.0.rounds=10 (repeatable)")
}

func (f *scenarioFlags) registerMatrix(fl *pflag.FlagSet) {
	fl.StringSlice("subject", nil, "subjects to run, like lock/parent,lock/predecessor (zkbench list subjects)")
	fl.IntSlice("clients", nil, "client counts, like 10,50,100")
	fl.Duration("duration", 0, "new duration of every phase that has a duration; fault times scale with it")
	fl.IntVar(&f.trials, "trials", 0, "number of trials of each cell; trials of different subjects are interleaved")
	fl.StringSliceVar(&f.ab, "ab", nil, "compare two subjects in one run, trials interleaved A B B A: lock/a,lock/b (10 trials, unless --trials is given)")
}

func (f *scenarioFlags) load(name string) (*spec.Scenario, error) {
	name, text, err := spec.Source(name)
	if err != nil {
		return nil, err
	}
	overrides, err := f.overrides()
	if err != nil {
		return nil, err
	}
	s, err := spec.Load(name, text, overrides...)
	if err == nil {
		err = s.ChooseVersions()
	}
	return s, err
}

// abTrials is the default number of trials per subject with --ab: enough that one outlier at either end
// does not move the confidence interval.
const abTrials = 10

func (f *scenarioFlags) overrides() ([]string, error) {
	var out []string
	for i, program := range f.exec {
		name, _, _ := strings.Cut(program, "=")
		if slices.ContainsFunc(f.exec[:i], func(other string) bool { return strings.HasPrefix(other, name+"=") }) {
			return nil, fmt.Errorf("--exec: the name %s is used for two programs: rename one of them", name)
		}
		out = append(out, "exec="+program)
	}
	for _, set := range [][2]string{
		{"subject", "subjects"}, {"clients", "clients"}, {"session-timeout", "session_timeout"},
		{"tick", "tick"}, {"hold", "hold"}, {"duration", "duration"},
	} {
		if flag := f.flags.Lookup(set[0]); flag != nil && flag.Changed {
			if names, err := f.flags.GetStringSlice(set[0]); err == nil && slices.Contains(names, "") {
				return nil, fmt.Errorf("--%s: empty name at position %d", set[0], slices.Index(names, "")+1)
			}
			out = append(out, set[1]+"="+flag.Value.String()) // String returns lists in brackets, as in YAML
		}
	}
	for flag, field := range map[string]string{"image": "images", "zookeeper-home": "homes"} {
		if !f.flags.Changed(flag) {
			continue
		}
		versions, _ := f.flags.GetStringSlice(flag) // the flag is of that type
		if len(versions) == 0 {
			return nil, fmt.Errorf("--%s is empty: remove it for the default", flag)
		}
		out = append(out, field+"="+yamlList(units.Names(versions, strconv.Quote)))
	}
	repeated, err := f.trialOverrides()
	if err != nil {
		return nil, err
	}
	return append(append(out, repeated...), f.set...), nil
}

func yamlList(words []string) string { return "[" + strings.Join(words, ", ") + "]" }

func (f *scenarioFlags) trialOverrides() ([]string, error) {
	trials := f.trials
	if f.flags.Changed("trials") && trials < 1 {
		return nil, fmt.Errorf("--trials %d: must be at least 1", trials)
	}
	if !f.flags.Changed("ab") {
		if trials == 0 {
			return nil, nil
		}
		return []string{"trials=" + strconv.Itoa(trials)}, nil
	}
	switch {
	case f.flags.Changed("subject"):
		return nil, fmt.Errorf("--ab names the subjects: remove --subject")
	case len(f.ab) != 2 || f.ab[0] == f.ab[1]:
		return nil, fmt.Errorf("--ab %s: want two different subjects, like lock/predecessor,lock/parent", strings.Join(f.ab, ","))
	case path.Dir(f.ab[0]) != path.Dir(f.ab[1]):
		return nil, fmt.Errorf("--ab %s: want two subjects of one kind of recipe", strings.Join(f.ab, ","))
	case trials == 1:
		return nil, fmt.Errorf("--trials 1 with --ab: one trial of each subject cannot show a difference; remove --trials, or set it to 10 or more")
	case trials == 0:
		trials = abTrials
	}
	return []string{"subjects=" + yamlList(f.ab), "base=" + f.ab[0], "trials=" + strconv.Itoa(trials)}, nil
}

func (f *runFlags) conclude(cmd *cobra.Command, dir string, s *spec.Scenario, c report.Conclusion) error {
	page := filepath.Join(dir, report.PageFile)
	if _, err := os.Stat(page); err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", absolute(page))
	}
	v := view.New(view.Input{Result: c.Result, Dir: dir, Explanations: explain.Failures(c)})
	v.HideExplanations()
	var showErr error
	if f.json {
		showErr = printJSON(cmd.OutOrStdout(), c.Result)
	} else {
		showErr = show(cmd.OutOrStdout(), v)
	}
	result := verdictError(v.Result)
	if s.Incident.Thread != "" {
		result = incidentError(cmd.ErrOrStderr(), s, v.Result)
	}
	// A broken guarantee decides the exit code, regardless of other errors.
	return errors.Join(showErr, annotate(rawWriter(cmd.ErrOrStderr()), v), result)
}

func show(w io.Writer, v *view.View) error { return render.Terminal(w, v, terminal(w)) }

func terminal(w io.Writer) render.Term {
	var t render.Term
	if f := tty(w); f != nil {
		t.Color = os.Getenv("NO_COLOR") == ""
		t.Width, _, _ = term.GetSize(int(f.Fd()))
	}
	return t
}

func tty(w io.Writer) *os.File {
	if s, ok := w.(stream); ok {
		w = s.File
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func verdictError(result string) error {
	return resultError(result, "a guarantee was broken or a threshold failed",
		"result: inconclusive; some guarantees or thresholds could not be evaluated, which is not a pass")
}

// resultError returns nil for a pass, otherwise an error with the exit code and the message for the result.
func resultError(result, failed, unknown string) error {
	switch result {
	case report.Pass:
		return nil
	case report.Fail:
		return exitError{errors.New(failed), exitBroken}
	}
	return exitError{errors.New(unknown), exitUnknown}
}

// argCount checks the number of arguments. format is the message's format, for the command and that number.
func argCount(least, most int, format string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError(format, cmd.CommandPath(), units.Plural(len(args), "argument"))
		}
		return nil
	}
}

func group(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		return unknownCommand(cmd, args[0])
	}
	return usageError("%s takes no arguments: remove %s", cmd.CommandPath(), args[0])
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return usageError("%s: unknown command %q%s", cmd.CommandPath(), name, units.Nearest(name, names))
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

func flagError(cmd *cobra.Command, err error) error {
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		if best := units.Closest("--"+name, flagNames(cmd)); best != "" {
			return usageError("%s: unknown flag --%s; did you mean %s?", cmd.CommandPath(), name, best)
		}
		return usageError("%s: unknown flag --%s (%s --help lists the flags)", cmd.CommandPath(), name, cmd.CommandPath())
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		return usageError("--%s requires a value", missing.GetFlag().Name)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return invalidValue(invalid.GetFlag(), invalid.GetValue(), err)
	}
	return usage(err)
}

func invalidValue(f *pflag.Flag, value string, err error) error {
	kind := f.Value.Type()
	if _, number := strconv.ParseFloat(value, 64); number == nil && kind == "duration" {
		return usageError("--%s: %s has no unit; is it %sms or %ss?", f.Name, value, value, value)
	}
	want := map[string]string{
		"bool": "true or false", "duration": "a number and a unit, like 20ms or 5s", "int": "a whole number",
		"intSlice": "whole numbers, like 10,50", "uint64": "a whole number, 0 or more",
	}[kind]
	if want == "" {
		return usage(err)
	}
	return usageError("--%s %s: want %s", f.Name, value, want)
}

const defaultTick = 2 * time.Second

// command returns the command that repeats the run in dir on an ensemble like the one that the run used.
func (f *runFlags) command(dir string) string {
	args := []string{"zkbench", "run", "--replay", absolute(dir)}
	if isFile(f.kind) {
		args = append(args, "--ensemble", absolute(f.kind))
	}
	for _, name := range repeatedFlags {
		switch flag := f.scenario.flags.Lookup(name); {
		case !flag.Changed || flag.Value.String() == "false":
		case flag.Value.Type() == "bool":
			args = append(args, "--"+name)
		default:
			args = append(args, "--"+name, strings.Trim(flag.Value.String(), "[]"))
		}
	}
	return shellquote.Join(args...)
}

// repeatedFlags are the flags whose values a run folder does not contain.
var repeatedFlags = []string{"servers", "chroot", "secure", "agents", "agents-listen", "agents-relay"}
