package scenarios

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/chaos"
)

// plan is the faults of one trial and their times: every random choice is made before the trial and
// recorded. A plan that is used again repeats the faults.
type plan struct {
	Trial  string      `yaml:"trial"`
	Seed   uint64      `yaml:"seed"` // of the run; the plan was made with it
	Phases []phasePlan `yaml:"phases"`
}

// phasePlan is the plan of one phase.
type phasePlan struct {
	Name string `yaml:"name"`
	// Seed decides choices that are made when a fault is injected (a random member, a waiter), and
	// random arrivals.
	Seed   uint64         `yaml:"seed,omitempty"`
	Faults []plannedFault `yaml:"faults,omitempty"`
	Rounds []plannedRound `yaml:"rounds,omitempty"` // of a failover
}

// plannedFault is a scenario's fault with a fixed jitter.
type plannedFault struct {
	Fault `yaml:",inline"`
	Gaps  []time.Duration `yaml:"gaps,omitempty,flow"` // times from one start to the next, in place of every and times
}

// plannedRound is a round of a failover.
type plannedRound struct {
	Holder int           `yaml:"holder"` // number of the client that is hit
	Wait   time.Duration `yaml:"wait"`   // from the moment at which all clients wait to the hit
}

// drawPlan makes the plan of one cell. It depends on the scenario, the seed and the cell's
// position, but not on the subject: all subjects of a row have the same faults.
func drawPlan(s *Scenario, c cell, trial string, seed uint64) plan {
	p := plan{Trial: trial, Seed: seed}
	for i, phase := range s.Phases {
		r := rand.New(rand.NewPCG(seed, uint64(c.Clients)<<32|uint64(c.Trial)<<16|uint64(i)))
		p.Phases = append(p.Phases, phase.draw(r, s.SessionTimeout, c.Clients))
	}
	return p
}

func (p *Phase) draw(r *rand.Rand, timeout time.Duration, clients int) phasePlan {
	out := phasePlan{Name: p.Name}
	k := kindNamed(p.Kind)
	if len(p.Faults) > 0 || k.plan != nil || p.Arrivals == poisson {
		out.Seed = r.Uint64()
	}
	for _, f := range p.Faults {
		out.Faults = append(out.Faults, f.draw(r, p.Duration))
	}
	if k.plan != nil {
		out.Rounds = k.plan(p, r, timeout, clients)
	}
	return out
}

// draw fixes the fault's jitter.
func (f Fault) draw(r *rand.Rand, phase time.Duration) plannedFault {
	out := plannedFault{Fault: f}
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

// entries converts planned faults to chaos entries.
func (p phasePlan) entries() ([]chaos.Entry, error) {
	var out []chaos.Entry
	for _, f := range p.Faults {
		fault, err := chaos.Parse(f.Fault.Fault, f.Target, f.Params)
		if err != nil {
			return nil, errors.New(suggest(err))
		}
		out = append(out, chaos.Entry{
			Fault: fault, On: f.On, At: f.At, For: f.For, Every: f.Every, Times: f.Times, Gaps: f.Gaps,
		})
	}
	return out, nil
}
