package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	gopsload "github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/draw"
	"github.com/zkbench/zkbench/scenarios/agents"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// Config is the configuration of a run. All fields except Scenario are optional.
type Config struct {
	Scenario *spec.Scenario
	Ensemble ensembles.Options // the zero value starts three members of the first kind that is available
	Seed     uint64
	Dir      string // run folder, which must be empty or missing; "" uses a temporary folder
	// Driver is the command that starts a driver of a compiled-in subject, such as zkbench driver; the
	// subject's name is appended. It is required for scenarios whose subjects run in separate processes.
	Driver []string
	// Agents run the clients on other machines; nil runs them in this process. With Relay, agents
	// connect to the members through this process.
	Agents *agents.Fleet
	Relay  bool
	// Progress receives the status of each trial while it runs; may be nil.
	Progress func(stage.Status)
	Logf     func(format string, args ...any) // receives one line per message
	Versions map[string]string                // versions of the harness for the result; ZooKeeper's is added
	Command  string                           // the command that repeats the run, for the result
}

// Validate reports all problems of the configuration before anything is started.
func (c Config) Validate() error {
	if c.Scenario == nil {
		return errors.New("no scenario is configured: set Config.Scenario")
	}
	if err := c.Scenario.Validate(); err != nil {
		return err
	}
	if err := c.checkVersions(); err != nil {
		return err
	}
	if most, ok := openFiles(); ok {
		if err := c.Scenario.CheckFiles(most); err != nil {
			return err
		}
	}
	if c.Agents != nil {
		if err := c.Scenario.CheckAgents(); err != nil {
			return err
		}
	}
	if c.isExternal() {
		if err := c.Scenario.CheckExternal(c.Ensemble); err != nil {
			return err
		}
	} else if err := c.Scenario.CheckTimeouts(cmp.Or(c.Ensemble.Tick, defaultTick)); err != nil {
		return err
	}
	return c.checkMembers()
}

const defaultTick = 2 * time.Second

func (c Config) isExternal() bool {
	return c.Ensemble.Kind == ensembles.External || len(c.Ensemble.Servers) > 0
}

// Run starts an ensemble or attaches to an existing one, runs the scenario's trials, checks the
// records, writes the run folder and stops everything that it started. The result covers all trials
// that began, even if an error ended the run early.
//
// When ctx is done, Run heals all faults and returns the results so far.
func Run(ctx context.Context, c Config) (result report.Conclusion, err error) {
	if err := c.Validate(); err != nil {
		return result, err
	}
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "zkbench-run-"); err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	}
	if err := c.prepare(); err != nil {
		return result, err
	}
	start := time.Now()
	run := report.Run{
		ID: filepath.Base(c.Dir), Scenario: c.Scenario.Name, About: c.Scenario.About, Seed: c.Seed, Start: start.UTC(),
		Host: hostFacts(), Versions: map[string]string{}, Incident: c.Scenario.ReportedIncident(),
	}
	maps.Copy(run.Versions, c.Versions)
	for _, name := range c.Scenario.AllSubjects() {
		if s, err := c.Scenario.Find(name); err == nil && s.Version != nil && !strings.Contains(name, "@") {
			run.Versions[name] = cmp.Or(s.Version(), "unknown")
		}
	}
	run.Command = c.Command
	runErr := c.runBatches(ctx, &run)
	run.Elapsed = time.Since(start)
	switch {
	case ctx.Err() != nil:
		run.EndReason = "interrupted"
	case runErr != nil:
		run.EndReason = runErr.Error()
	}
	if result, err = report.Conclude(c.Dir, run); err == nil {
		_, err = draw.Folder(c.Dir, result)
	}
	return result, errors.Join(runErr, err)
}

func (c *Config) prepare() (err error) {
	if c.Logf == nil {
		c.Logf = func(string, ...any) {}
	}
	c.Ensemble.Logf = c.Logf
	if c.Ensemble.Kind == "" && c.isExternal() {
		c.Ensemble.Kind = ensembles.External
	}
	for c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("the run folder %s is not empty", c.Dir)
	}
	if err := os.MkdirAll(filepath.Join(c.Dir, report.HistoryDir), 0o755); err != nil {
		return err
	}
	return c.writeScenario(c.Scenario)
}

func (c Config) writeScenario(s *spec.Scenario) error {
	text, err := s.Dump()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Dir, report.ScenarioFile), text, 0o644)
}

func (c Config) runBatches(ctx context.Context, run *report.Run) error {
	batches, err := c.Scenario.Batches()
	if err != nil {
		return err
	}
	if err := container.Fetch(ctx, c.images(), c.Logf); err != nil {
		return err
	}
	before, all, start := 0, 0, time.Now()
	for _, b := range batches {
		all += len(b.Cells)
	}
	for i, b := range batches {
		o, logs := c.ensembleOptions(b), filepath.Join(c.Dir, report.EnsembleDir)
		if len(batches) > 1 {
			logs = filepath.Join(logs, c.logFolder(batches, i))
		}
		err := c.withEnsemble(ctx, o, logs, run, b.Cells, func(r *runner) error {
			r.start, r.budget = start, c.Scenario.Budget*time.Duration(len(batches))
			return r.run(ctx, c.Scenario, b, before, all)
		})
		if err != nil {
			return err
		}
		before += len(b.Cells)
	}
	if slices.ContainsFunc(batches, func(b spec.Batch) bool { return b.Tick != batches[0].Tick }) {
		run.Ensemble.Tick = 0 // ensembles differ; each trial is named by its tick
	}
	return nil
}

// withEnsemble starts an ensemble, runs the trials on it, saves the members' logs, and stops it.
//
// Faults that the ensemble does not support are removed from the cells, or logged.
func (c Config) withEnsemble(ctx context.Context, o ensembles.Options, logs string, run *report.Run, cells []spec.Cell, trials func(*runner) error) (err error) {
	e, err := auto.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saveLogsAndStop(e, logs)) }()
	about, version := describeEnsemble(e)
	about = appendUnique(run.Ensemble.About, about, "; ")
	run.Ensemble = report.Ensemble{Kind: string(e.Kind), About: about, Members: len(e.Voting()), Tick: e.Tick}
	for _, m := range e.Members {
		if m.Observer {
			run.Ensemble.Observers = append(run.Ensemble.Observers, m.Name)
		}
	}
	run.Versions["zookeeper"] = appendUnique(run.Versions["zookeeper"], version, ", ")
	c.Logf("ensemble: %s, %s (%s)", e.Kind, e.Size(), e.About)
	unlock, err := c.lock(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	network, err := network.Open(ctx, e)
	switch {
	case errors.Is(err, chaos.ErrSkipped): // faults of the network report the reason
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, runCleanup(network.Close)) }()
	}
	if run.SkippedFaults, err = c.omitUnsupported(ctx, chaos.Target{Ensemble: e, Network: network}, cells); err != nil {
		return err
	}
	if c.Agents != nil {
		defer func() { run.Agents = c.Agents.Names() }() // some may join later
		if !relayed(c.Relay, e) {
			if err := c.Agents.CheckReachable(e.Servers()); err != nil {
				return fmt.Errorf("%w; to connect the agents through this machine, use --agents-relay", err)
			}
		}
	}
	return trials(&runner{Config: c, ensemble: e, network: network, id: e.ID + "-" + randomID()})
}

// lock protects runs on a persistent ensemble from each other: a run whose faults affect members
// locks the ensemble exclusively, other runs share it. The caller must call unlock.
func (c Config) lock(e *ensembles.Ensemble) (unlock func() error, err error) {
	id, err := persistentID(e)
	if id == "" || err != nil {
		return func() error { return nil }, err
	}
	exclusive := slices.ContainsFunc(c.Scenario.Phases, func(p spec.Phase) bool { return len(p.MemberFaults()) > 0 })
	unlock, err = state.Acquire(id, c.Scenario.Name, exclusive)
	if errors.Is(err, state.ErrLocked) {
		return nil, fmt.Errorf("%w; faults of one of the two runs affect the members: wait until the ensemble is free, or start an ensemble for this run (--ensemble process or container)", err)
	}
	return unlock, err
}

// persistentID returns the ID of a persistent ensemble, even if named by its addresses; "" if e is external.
func persistentID(e *ensembles.Ensemble) (id string, err error) {
	if e.Kind != ensembles.External {
		return e.ID, nil
	}
	records, err := state.List()
	for _, r := range records {
		if slices.ContainsFunc(r.Members, func(m state.Member) bool { return slices.Contains(e.Servers(), m.Addr()) }) {
			return r.ID, nil
		}
	}
	return "", err
}

// randomID returns an ID that distinguishes runs on one ensemble.
func randomID() string { return fmt.Sprintf("%012x", rand.Uint64N(1<<48)) }

func saveLogsAndStop(e *ensembles.Ensemble, logs string) error {
	return runCleanup(func(ctx context.Context) error {
		errs := []error{os.MkdirAll(logs, 0o755)}
		for _, m := range e.Members {
			if m.Machine != nil {
				errs = append(errs, m.Machine.Save(ctx, logs))
			}
		}
		return errors.Join(append(errs, e.Down(ctx))...)
	})
}

// runCleanup runs the clean-up f for at most 30 s, with a separate context, so that f also works after a cancelled run.
func runCleanup(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return f(ctx)
}

func hostFacts() map[string]string {
	facts := map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": strconv.Itoa(runtime.NumCPU())}
	if name, err := os.Hostname(); err == nil {
		facts["name"] = name
	}
	if infos, err := cpu.Info(); err == nil && len(infos) > 0 {
		facts["cpu"] = infos[0].ModelName
	}
	if m, err := mem.VirtualMemory(); err == nil {
		facts["memory"] = strconv.FormatUint(m.Total>>20, 10) + " MiB"
	}
	if kernel, err := host.KernelVersion(); err == nil {
		facts["kernel"] = kernel
	}
	if load, err := gopsload.Avg(); err == nil {
		facts["load before the run"] = strconv.FormatFloat(load.Load1, 'f', 2, 64)
	}
	maps.Copy(facts, powerFacts(os.DirFS("/sys")))
	return facts
}
