package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/safefile"
)

// makePlans makes the plans of all trials, or reads them from the run folder replay, and writes
// them to dir.
func makePlans(cells []cell, seed uint64, replay, dir string) ([]plan, error) {
	out := make([]plan, len(cells))
	for i, c := range cells {
		out[i] = drawPlan(c.Scenario, c, c.trialName(), seed)
		if replay != "" {
			var err error
			if out[i], err = readPlan(replay, out[i].Trial, c.Scenario, c.Clients); err != nil {
				return nil, err
			}
		}
		if err := out[i].write(dir); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// replaySeed returns the seed of the plans of the run folder dir. It fails if a
// trial of the scenario has no plan there.
func (s *Scenario) replaySeed(dir string) (seed uint64, err error) {
	cells, err := s.cells()
	if err != nil {
		return 0, err
	}
	for _, c := range cells {
		p, err := readPlan(dir, c.trialName(), c.Scenario, c.Clients)
		if err != nil {
			return 0, err
		}
		seed = p.Seed
	}
	return seed, nil
}

// planPath is where the plan of a trial is in a run folder.
func planPath(dir, trial string) string {
	return filepath.Join(dir, report.FaultPlanDir, trial+".yaml")
}

func (p plan) write(dir string) error {
	text, err := yaml.Dump(p)
	if err != nil {
		return fmt.Errorf("plan of %s: %w", p.Trial, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, report.FaultPlanDir), 0o755); err != nil {
		return fmt.Errorf("plan of %s: %w", p.Trial, err)
	}
	return os.WriteFile(planPath(dir, p.Trial), text, 0o644)
}

// readPlan reads a plan and checks that it fits the scenario.
func readPlan(dir, trial string, s *Scenario, clients int) (plan, error) {
	path := planPath(dir, trial)
	text, err := safefile.Read(path, safefile.Result)
	if errors.Is(err, fs.ErrNotExist) {
		return plan{}, fmt.Errorf("there is no plan of trial %s to replay: %w", trial, err)
	}
	if err != nil {
		return plan{}, err
	}
	return parsePlan(path, text, s, clients)
}

// parsePlan reads a plan strictly; name is for error messages.
func parsePlan(name string, text []byte, s *Scenario, clients int) (plan, error) {
	var p plan
	if err := yaml.Load(text, &p, yaml.WithKnownFields()); err != nil {
		return plan{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(p.Phases) != len(s.Phases) {
		return plan{}, fmt.Errorf("%s: it has %d phases, and the scenario %d", name, len(p.Phases), len(s.Phases))
	}
	for i, phase := range p.Phases {
		if phase.Name != s.Phases[i].Name {
			return plan{}, fmt.Errorf("%s: phases.%d is %q, and in the scenario %q", name, i, phase.Name, s.Phases[i].Name)
		}
		if _, err := phase.entries(); err != nil {
			return plan{}, fmt.Errorf("%s: phases.%d: %w", name, i, err)
		}
		for k, r := range phase.Rounds {
			if r.Holder < 0 || r.Holder >= clients || r.Wait < 0 || r.Wait > maxDuration {
				return plan{}, fmt.Errorf("%s: phases.%d.rounds.%d: holder %d of %d clients, wait %v", name, i, k, r.Holder, clients, r.Wait)
			}
		}
	}
	return p, nil
}
