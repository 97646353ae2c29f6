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

// Config is the configuration of a run. All fields but the scenario are optional.
type Config struct {
	Scenario *Scenario
	Ensemble ensembles.Options // the zero value is three members, of the first kind that works here
	Seed     uint64
	Replay   string // run folder whose faults are repeated at the same times; its seed is used too
	Dir      string // run folder, which must be empty or missing; "" is a temporary one, which is removed
	// Driver is the program and arguments that start a driver of a subject that is compiled in,
	// such as zkbench driver; the subject's name is appended. Scenarios whose subjects run apart
	// need it.
	Driver []string
	// Agents are processes on other machines that run the clients; nil for this process. With
	// Relay, agents reach the members through this process.
	Agents *agents.Fleet
	Relay  bool
	// Progress is called by each trial from time to time.
	Progress func(Status)
	Logf     func(format string, args ...any) // receives one line per message
	Versions map[string]string                // versions of the harness for the result; ZooKeeper's is added
	Command  func(report.Run) string          // returns the command that repeats the run, for the result
}

// Validate reports all problems of the configuration before anything is started.
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

// defaultTick is the tick of an ensemble without a configured one.
const defaultTick = 2 * time.Second

// grantable rejects a session timeout that members with such a tick do not grant: they change it,
// and all values computed from it would be wrong. tick is the default of scenarios without one; 0 if
// unknown.
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

func (c Config) external() bool {
	return c.Ensemble.Kind == ensembles.External || len(c.Ensemble.Servers) > 0
}

// refuseExternal rejects scenarios that an external ensemble does not support: a tick of the scenario's own,
// and faults of members without commands.
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
			faults = slices.DeleteFunc(faults, p.spares) // they are omitted when the run begins
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

// lacks returns why the commands of an external ensemble's members do not suffice for a fault, or
// "".
func lacks(fault string, o ensembles.Options) string {
	kind, err := chaos.KindOf(fault)
	if err != nil {
		return err.Error()
	}
	for i, c := range o.Terms.Commands {
		words, possible := kind.Lacks(c)
		switch {
		case !possible:
			return "is not available by commands"
		case len(words) > 0:
			return fmt.Sprintf("needs %s of every member, and %s in %s has none", strings.Join(words, " and "), o.Servers[i], o.Terms.File)
		}
	}
	return ""
}

// Run runs a scenario: it starts an ensemble or attaches to one, runs the trials, checks the
// records, writes the run folder and tears down everything that it has started. The result covers all trials
// that were begun, also if an error ended the run early.
//
// When ctx is done, Run heals all faults and returns the results until then.
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

// complete sets defaults and creates the run folder.
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

// writeScenario writes the scenario to the run folder as it is run.
func (c Config) writeScenario(s *Scenario) error {
	text, err := s.dump()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Dir, report.ScenarioFile), text, 0o644)
}
