package spec

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos"
)

// afterFault is the time for which a phase continues after its last fault: clients are granted again.
const afterFault = 3 * time.Second

// Reduce reduces the scenario to the minimum that runs every phase: the smallest number of clients, one
// trial per subject (two if subjects are compared), the first value of each key of the matrix, one
// round, each fault once, no warm-up; of an audit, one calm episode. The result shows whether the
// scenario runs; it has too few samples to measure anything.
func (s *Scenario) Reduce() error {
	if len(s.Clients) > 0 {
		s.Clients = []int{slices.Min(s.Clients)}
	}
	first := map[string]string{}
	for key, values := range s.Matrix {
		first[key] = values[0]
	}
	if !s.Upgrades() {
		s.Images, s.Homes = s.Images[:min(1, len(s.Images))], s.Homes[:min(1, len(s.Homes))]
	}
	thresholds, only := s.Thresholds, s.Only
	one, err := s.withChoice(first)
	if err != nil {
		return err
	}
	*s = *one
	s.Thresholds, s.Only = thresholds, only
	s.Warmup, s.Budget, s.ExtraTime, s.Trials = 0, 0, 0, min(s.Trials, 1)
	if s.Base != "" {
		s.Trials = 2
	}
	for i := range s.Phases {
		s.Phases[i].reduce()
	}
	if p := s.AuditPhase(); p != nil && len(p.Cells) == 0 {
		p.Cells, p.Also, p.Depth, p.Duration = []string{AllSteps + "/" + CalmName}, nil, 0, 0
	}
	return s.Validate()
}

// reduce reduces the phase to one round, or to the time that its faults need.
func (p *Phase) reduce() {
	p.Rounds = min(p.Rounds, 1)
	needed := time.Second
	for i := range p.Faults {
		f := &p.Faults[i]
		f.Every, f.Times = 0, 0
		f.Jitter = min(f.Jitter, f.At)
		needed = max(needed, f.At+f.Jitter+f.For+afterFault)
		if f.For == 0 && chaos.TouchesMembers(f.Fault) || f.On != "" { // duration unknown
			needed = p.Duration
		}
	}
	p.Duration = min(p.Duration, needed)
}
