package spec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report"
	"go.yaml.in/yaml/v4"
)

// Plan contains the faults of one trial and their times: every random choice is made before the trial
// and recorded. The same seed results in the same plan.
type Plan struct {
	Trial  string      `yaml:"trial"`
	Seed   uint64      `yaml:"seed"` // the run's seed, from which the plan was derived
	Phases []PhasePlan `yaml:"phases"`
}

// PhasePlan contains the faults and the random choices of one phase.
type PhasePlan struct {
	Name string `yaml:"name"`
	// Seed determines random arrivals and the choices that are made when a fault is injected, such as
	// a random member or a waiter.
	Seed   uint64         `yaml:"seed,omitempty"`
	Faults []PlannedFault `yaml:"faults,omitempty"`
	Rounds []PlannedRound `yaml:"rounds,omitempty"` // of a failover
}

// PlannedFault is a fault with its random choices made.
type PlannedFault struct {
	Fault `yaml:",inline"`
	Gaps  []time.Duration `yaml:"gaps,omitempty,flow"` // times from one injection to the next, in place of every and times
}

// PlannedRound contains the random choices of one round of a failover.
type PlannedRound struct {
	Holder int           `yaml:"holder"` // number of the client that the cause hits
	Wait   time.Duration `yaml:"wait"`   // time from the moment at which all others wait to the injection
}

// DrawPlan returns the plan of the trial of one cell. The plan depends on the scenario, the seed, the
// number of clients and the repetition, but not on the subject: compared subjects have the same faults.
func DrawPlan(c Cell, seed uint64) Plan {
	p := Plan{Trial: c.TrialName(), Seed: seed}
	for i, phase := range c.Scenario.Phases {
		r := rand.New(rand.NewPCG(seed, uint64(c.Clients)<<32|uint64(c.Trial)<<16|uint64(i)))
		p.Phases = append(p.Phases, phase.draw(r, c.Scenario.SessionTimeout, c.Clients))
	}
	return p
}

func (p *Phase) draw(r *rand.Rand, timeout time.Duration, clients int) PhasePlan {
	out := PhasePlan{Name: p.Name}
	k := KindNamed(p.Kind)
	if len(p.Faults) > 0 || k.Plan != nil || p.Arrivals == Poisson {
		out.Seed = r.Uint64()
	}
	for _, f := range p.Faults {
		out.Faults = append(out.Faults, f.draw(r, p.Duration))
	}
	if k.Plan != nil {
		out.Rounds = k.Plan(p, r, timeout, clients)
	}
	return out
}

func (f Fault) draw(r *rand.Rand, phase time.Duration) PlannedFault {
	out := PlannedFault{Fault: f}
	out.Jitter = 0
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

// Entries returns the planned faults as entries for package chaos. It fails if [chaos.Parse] rejects one of them.
func (p PhasePlan) Entries() ([]chaos.Entry, error) {
	var out []chaos.Entry
	for _, f := range p.Faults {
		fault, err := chaos.Parse(f.Fault.Fault, f.Target, f.Params)
		if err != nil {
			return nil, errors.New(suggest(err))
		}
		out = append(out, chaos.Entry{Fault: fault, On: f.On, At: f.At, For: f.For, Every: f.Every, Times: f.Times, Gaps: f.Gaps})
	}
	return out, nil
}

// MakePlans derives the plans of all trials from the seed, and writes them to the run folder dir.
func MakePlans(cells []Cell, seed uint64, dir string) ([]Plan, error) {
	if err := os.MkdirAll(filepath.Join(dir, report.FaultPlanDir), 0o755); err != nil {
		return nil, err
	}
	out := make([]Plan, len(cells))
	for i, c := range cells {
		out[i] = DrawPlan(c, seed)
		text, err := yaml.Dump(out[i])
		if err == nil {
			err = os.WriteFile(PlanPath(dir, out[i].Trial), text, 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("plan of %s: %w", out[i].Trial, err)
		}
	}
	return out, nil
}

func PlanPath(dir, trial string) string {
	return filepath.Join(dir, report.FaultPlanDir, trial+".yaml")
}
