package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/zkbench/zkbench/chaos"
)

// Plan is what goes wrong in one trial, and when: every choice that the seed decides
// is made here, before anything runs, and written down. Playing the same plan again
// repeats the faults, as far as a real ensemble repeats anything.
type Plan struct {
	Trial  string      `yaml:"trial"`
	Seed   uint64      `yaml:"seed"` // of the run, from which the plan was drawn
	Phases []PhasePlan `yaml:"phases"`
}

// PhasePlan is what goes wrong in one phase.
type PhasePlan struct {
	Name string `yaml:"name"`
	// Seed decides what can only be chosen when a fault strikes: a random member,
	// a waiter.
	Seed   uint64         `yaml:"seed,omitempty"`
	Faults []PlannedFault `yaml:"faults,omitempty"`
	Rounds []PlannedRound `yaml:"rounds,omitempty"` // of a failover
}

// PlannedFault is a scenario's Fault with its jitter drawn.
type PlannedFault struct {
	Fault  string            `yaml:"fault"`
	Target string            `yaml:"target,omitempty"`
	Params map[string]string `yaml:"params,omitempty"`
	On     string            `yaml:"on,omitempty"`
	At     time.Duration     `yaml:"at"`
	For    time.Duration     `yaml:"for,omitempty"`
	Every  time.Duration     `yaml:"every,omitempty"`
	Times  int               `yaml:"times,omitempty"`
	Gaps   []time.Duration   `yaml:"gaps,omitempty,flow"` // in place of every and times: from each start to the next
}

// PlannedRound is one round of a failover.
type PlannedRound struct {
	Holder int           `yaml:"holder"` // number of the client that is struck
	Wait   time.Duration `yaml:"wait"`   // from the moment at which all stand in line to the strike
}

// PlanDir is where the plans are in a run folder.
const PlanDir = "plan"

// draw makes the plan of one cell. It depends on the scenario, the seed, and the
// cell's place beside its neighbours, but not on the subject: all subjects of a row
// are struck alike.
func draw(s *Scenario, cell Cell, trial string, seed uint64) Plan {
	p := Plan{Trial: trial, Seed: seed}
	for i, phase := range s.Phases {
		r := rand.New(rand.NewPCG(seed, uint64(cell.Clients)<<32|uint64(cell.Trial)<<16|uint64(i)))
		p.Phases = append(p.Phases, phase.draw(r, s.SessionTimeout, cell.Clients))
	}
	return p
}

func (p *Phase) draw(r *rand.Rand, timeout time.Duration, clients int) PhasePlan {
	out := PhasePlan{Name: p.Name}
	if len(p.Faults) > 0 || p.Kind == Failover {
		out.Seed = r.Uint64()
	}
	for _, f := range p.Faults {
		out.Faults = append(out.Faults, f.draw(r, p.Duration))
	}
	if p.Kind == Failover {
		for range p.Rounds {
			out.Rounds = append(out.Rounds, p.drawRound(r, timeout, clients))
		}
	}
	return out
}

// drawRound draws a round of a failover. A session is heard every third of its
// timeout, and expires on a tick, of which the timeout has at least two: half a timeout
// meets both at any moment of theirs alike. Where neither matters it need not be long.
func (p *Phase) drawRound(r *rand.Rand, timeout time.Duration, clients int) PlannedRound {
	most := timeout / 2
	if e := causes[p.Cause]; !e.expires && !e.keeps {
		most = min(most, 100*time.Millisecond)
	}
	return PlannedRound{
		Holder: r.IntN(clients),
		Wait:   p.Hold + time.Duration(r.Int64N(int64(most))).Truncate(time.Microsecond),
	}
}

// draw draws the fault's jitter.
func (f Fault) draw(r *rand.Rand, phase time.Duration) PlannedFault {
	out := PlannedFault{
		Fault: f.Fault, Target: f.Target, Params: f.Params, On: f.On, At: f.At, For: f.For, Every: f.Every, Times: f.Times,
	}
	if f.Jitter == 0 {
		return out
	}
	vary := func(d time.Duration) time.Duration {
		d += time.Duration(r.Int64N(int64(2*f.Jitter)+1)) - f.Jitter
		return max(0, d.Truncate(time.Microsecond))
	}
	out.At = vary(f.At)
	if f.Every == 0 {
		return out
	}
	out.Every, out.Times, out.Gaps = 0, 0, []time.Duration{}
	for at := out.At; at < phase && (f.Times == 0 || len(out.Gaps)+1 < f.Times); {
		gap := max(minEvery, vary(f.Every))
		out.Gaps = append(out.Gaps, gap)
		at += gap
	}
	return out
}

// entries turns planned faults into what chaos plays.
func (p PhasePlan) entries() ([]chaos.Entry, error) {
	var out []chaos.Entry
	for _, f := range p.Faults {
		fault, err := chaos.Parse(f.Fault, f.Target, f.Params)
		if err != nil {
			return nil, err
		}
		out = append(out, chaos.Entry{
			Fault: fault, On: f.On, At: f.At, For: f.For, Every: f.Every, Times: f.Times, Gaps: f.Gaps,
		})
	}
	return out, nil
}

// plans draws the plans of all trials, or reads those that are to be replayed, and
// writes them into the run folder before anything is played.
func (l *Lab) plans(cells []Cell) ([]Plan, error) {
	out := make([]Plan, len(cells))
	for i, cell := range cells {
		out[i] = draw(cell.Scenario, cell, cell.trialName(), l.Seed)
		if l.Replay != "" {
			var err error
			if out[i], err = readPlan(l.Replay, out[i].Trial, cell.Scenario, cell.Clients); err != nil {
				return nil, err
			}
		}
		if err := out[i].write(l.Dir); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Replayable says whether the run folder has a plan for every trial of the scenario,
// and returns the seed from which they were drawn.
func (s *Scenario) Replayable(dir string) (seed uint64, err error) {
	cells, err := s.Cells()
	if err != nil {
		return 0, err
	}
	for _, cell := range cells {
		p, err := readPlan(dir, cell.trialName(), cell.Scenario, cell.Clients)
		if err != nil {
			return 0, err
		}
		seed = p.Seed
	}
	return seed, nil
}

// planPath is where the plan of a trial is in a run folder.
func planPath(dir, trial string) string { return filepath.Join(dir, PlanDir, trial+".yaml") }

// write puts the plan into the run folder.
func (p Plan) write(dir string) error {
	text, err := yaml.Dump(p)
	if err != nil {
		return fmt.Errorf("plan of %s: %w", p.Trial, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, PlanDir), 0o755); err != nil {
		return fmt.Errorf("plan of %s: %w", p.Trial, err)
	}
	return os.WriteFile(planPath(dir, p.Trial), text, 0o644)
}

// readPlan reads a plan back, and makes sure that it is one of the scenario.
func readPlan(dir, trial string, s *Scenario, clients int) (Plan, error) {
	path := planPath(dir, trial)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Plan{}, fmt.Errorf("there is no plan of trial %s to replay: %w", trial, err)
	}
	if err != nil {
		return Plan{}, err
	}
	return parsePlan(path, text, s, clients)
}

// parsePlan reads a plan strictly; name is for error messages.
func parsePlan(name string, text []byte, s *Scenario, clients int) (Plan, error) {
	var p Plan
	if err := yaml.Load(text, &p, yaml.WithKnownFields()); err != nil {
		return Plan{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(p.Phases) != len(s.Phases) {
		return Plan{}, fmt.Errorf("%s: it has %d phases, and the scenario %d", name, len(p.Phases), len(s.Phases))
	}
	for i, phase := range p.Phases {
		if phase.Name != s.Phases[i].Name {
			return Plan{}, fmt.Errorf("%s: phases.%d is %q, and in the scenario %q", name, i, phase.Name, s.Phases[i].Name)
		}
		if _, err := phase.entries(); err != nil {
			return Plan{}, fmt.Errorf("%s: phases.%d: %s", name, i, suggest(err))
		}
		for k, r := range phase.Rounds {
			if r.Holder < 0 || r.Holder >= clients || r.Wait < 0 || r.Wait > maxDuration {
				return Plan{}, fmt.Errorf("%s: phases.%d.rounds.%d: holder %d of %d clients, wait %v", name, i, k, r.Holder, clients, r.Wait)
			}
		}
	}
	return p, nil
}
