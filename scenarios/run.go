package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/draw"
	"github.com/zkbench/zkbench/scenarios/agents"
)

// Config says what to run, and on what. All but the scenario may be left out.
type Config struct {
	Scenario *Scenario
	Ensemble ensembles.Options // the zero value is three members, of the best kind that this machine can run
	Seed     uint64            // decides every random choice; 0 draws one
	Replay   string            // run folder whose faults are played again at the same times; its seed is taken, too
	Dir      string            // run folder, which must be empty or missing; "" is a temporary one, which is removed
	// Driver starts a driver of a subject that is compiled in, whose name is added: the program
	// and its arguments, like zkbench driver. Scenarios need it whose subjects run apart.
	Driver []string
	// Agents are where the clients live, as processes of their own; nil is this machine. Relay
	// has agents reach the members through this process.
	Agents *agents.Fleet
	Relay  bool
	// Progress is called now and then, by each trial for itself.
	Progress func(Status)
	Logf     func(format string, args ...any) // one line for each thing worth saying
	Versions map[string]string                // of what measures, for the result; ZooKeeper's is added
	Command  func(report.Run) string          // repeats the run, for the result
}

// Validate returns what is wrong with the configuration, before anything is started.
func (c Config) Validate() error {
	if c.Scenario == nil {
		return errors.New("the configuration has no scenario")
	}
	if err := c.Scenario.Validate(); err != nil {
		return err
	}
	if err := c.checkVersions(); err != nil {
		return err
	}
	if most, ok := openFiles(); ok {
		if err := c.Scenario.enoughFiles(most); err != nil {
			return err
		}
	}
	if c.Agents != nil {
		if err := c.Scenario.refuseAgents(); err != nil {
			return err
		}
	}
	if c.external() {
		if err := c.Scenario.refuseExternal(c.Ensemble); err != nil {
			return err
		}
	} else if err := c.Scenario.grantable(cmp.Or(c.Ensemble.Tick, defaultTick)); err != nil {
		return err
	}
	if err := c.checkMembers(); err != nil {
		return err
	}
	if c.Replay == "" {
		return nil
	}
	_, err := c.Scenario.replaySeed(c.Replay)
	return err
}

// defaultTick is the tick of an ensemble whose options have none.
const defaultTick = 2 * time.Second

// grantable refuses a session timeout that members with such a tick do not grant: they make
// another of it, and all that is computed from it would be wrong. tick is that of scenarios
// that have none; 0 is not known.
func (s *Scenario) grantable(tick time.Duration) error {
	batches, err := s.batches()
	if err != nil {
		return err
	}
	for _, b := range batches {
		tick := cmp.Or(b.tick, tick)
		for _, c := range b.cells {
			t := c.Scenario.SessionTimeout
			if least, most := 2*tick, 20*tick; tick > 0 && (t < least || t > most) {
				return fmt.Errorf("session_timeout %v: members with a tick of %v grant %v to %v (2 to 20 ticks): take one of those, or another --tick", t, tick, least, most)
			}
		}
	}
	return nil
}

// external says whether the ensemble is somebody else's.
func (c Config) external() bool {
	return c.Ensemble.Kind == ensembles.External || len(c.Ensemble.Servers) > 0
}

// refuseExternal says what the scenario asks of an ensemble that somebody else's cannot
// have: a tick of its own, and faults that touch members for which there are no commands.
func (s *Scenario) refuseExternal(o ensembles.Options) error {
	if _, varied := s.Matrix[tickKey]; varied || s.Tick > 0 {
		return fmt.Errorf("%s sets the tick, and an external ensemble has its own; leave it out: --set tick=0s", s.Name)
	}
	var errs []error
	for i := range s.Phases {
		p := &s.Phases[i]
		leave := "faults=[]"
		if len(p.Faults) == 0 {
			leave = "rounds=0"
		}
		leave = fmt.Sprintf("leave it out: --set phases.%d.%s", i, leave)
		faults := p.memberFaults()
		if o.Terms.Commands == nil {
			faults = slices.DeleteFunc(faults, p.spares) // they are left out when the run begins
			if len(faults) > 0 {
				errs = append(errs, fmt.Errorf("phases.%d (%s): %s would touch a member of an external ensemble; %s, or name commands for it in a file (zkbench help ensembles)",
					i, p.Name, strings.Join(faults, ", "), leave))
			}
			continue
		}
		for _, fault := range faults {
			if why := lacks(fault, o); why != "" {
				errs = append(errs, fmt.Errorf("phases.%d (%s): %s %s; %s", i, p.Name, fault, why, leave))
			}
		}
	}
	return errors.Join(errs...)
}

// lacks says why the commands of an external ensemble's members will not do for a fault; ""
// where they do.
func lacks(fault string, o ensembles.Options) string {
	kind, err := chaos.KindOf(fault)
	if err != nil {
		return err.Error()
	}
	for i, c := range o.Terms.Commands {
		words, possible := kind.Lacks(c)
		switch {
		case !possible:
			return "cannot be had by commands"
		case len(words) > 0:
			return fmt.Sprintf("needs %s of every member, and %s in %s has none", strings.Join(words, " and "), o.Servers[i], o.Terms.File)
		}
	}
	return ""
}

// Run runs a scenario: it starts an ensemble or attaches to one, plays the trials, judges
// what they recorded, writes the run folder and takes down what it has started. The result
// is that of all trials that were begun, also where an error ended the run early.
//
// When ctx is done, Run heals what it has broken and returns what was measured until then.
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
	if err := c.complete(); err != nil {
		return result, err
	}
	start := time.Now()
	run := report.Run{
		ID: filepath.Base(c.Dir), Scenario: c.Scenario.Name, Seed: c.Seed, Start: start.UTC(),
		Host: hostFacts(), Versions: map[string]string{}, Incident: c.Scenario.told(),
	}
	for what, version := range c.Versions {
		run.Versions[what] = version
	}
	runErr := c.play(ctx, &run)
	run.Elapsed = time.Since(start)
	if c.Command != nil {
		run.Command = c.Command(run)
	}
	switch {
	case ctx.Err() != nil:
		run.Ended = "interrupted"
	case runErr != nil:
		run.Ended = runErr.Error()
	}
	if result, err = report.Conclude(c.Dir, run); err == nil {
		_, err = draw.Folder(c.Dir, result)
	}
	return result, errors.Join(runErr, err)
}

// complete fills in what was left out, and begins the run folder.
func (c *Config) complete() (err error) {
	if c.Logf == nil {
		c.Logf = func(string, ...any) {}
	}
	c.Ensemble.Logf = c.Logf
	if c.Ensemble.Kind == "" && c.external() {
		c.Ensemble.Kind = ensembles.External
	}
	if c.Replay != "" {
		if c.Seed, err = c.Scenario.replaySeed(c.Replay); err != nil {
			return err
		}
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

// writeScenario writes the scenario into the run folder, as it is run.
func (c Config) writeScenario(s *Scenario) error {
	text, err := s.dump()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Dir, report.ScenarioFile), text, 0o644)
}
