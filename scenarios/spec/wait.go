package spec

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// afterFault is the time for which a phase continues after its last fault: long enough to be served
// again.
const afterFault = 3 * time.Second

// Once reduces the scenario to the least that runs every phase: the smallest number of clients, one
// trial per subject (two if they are compared), the first value of each variation, one round, each
// fault once, no warm-up; a calm episode of an audit. It shows whether a scenario runs; it has too
// few samples for its measurements.
func (s *Scenario) Once() error {
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
	one, err := s.with(first)
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
		s.Phases[i].once()
	}
	if p := s.AuditPhase(); p != nil && len(p.Cells) == 0 {
		p.Cells, p.Also, p.Depth, p.Duration = []string{AllSteps + "/" + CalmName}, nil, 0, 0
	}
	return s.Validate()
}

// once leaves the phase one round, or the time that its faults need.
func (p *Phase) once() {
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

// CalmTimes is the number of calm episodes. Steps that only one of them has occur by chance.
const CalmTimes = 3

// StepWatch collects the steps that all calm episodes of a subject have.
type StepWatch struct {
	mu    sync.Mutex
	times int
	Tries bool // the subject has a timed try; of a driver this is known when it has started
	// Variant is the subject's; of a driver it is known when it has started
	Variant recipes.Variant
	Steps   []SeenStep
	Also    []string // faults that a full audit omits otherwise
}

// Add adds the steps of one calm episode. It reports whether that was the last.
func (w *StepWatch) Add(seen []SeenStep, of recipes.Subject) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Tries, w.Variant = of.Tries, of.Variant
	if w.times++; w.times > 1 {
		seen = inBoth(w.Steps, seen)
	}
	w.Steps = seen
	return w.times == CalmTimes
}

// Records returns the steps with the faults that apply to each, for a subject.
func (w *StepWatch) Records(subject recipes.Subject) []*history.Step {
	out := []*history.Step{{Step: AllSteps, Faults: append([]string{CalmName}, wholeLine(subject)...)}}
	for _, s := range w.Steps {
		r := &history.Step{Step: s.String()}
		for _, f := range StepFaults {
			if (!f.Named || slices.Contains(w.Also, f.Name)) && f.at(s, subject) {
				r.Faults = append(r.Faults, f.Name)
			}
		}
		out = append(out, r)
	}
	if subject.Recipe == recipes.RecipeQueue {
		out = append(out, w.atBacklog()...)
	}
	return slices.DeleteFunc(out, func(r *history.Step) bool { return len(r.Faults) == 0 })
}

// backlogFaults are the faults for the requests of two consumers while items are waiting.
var backlogFaults = []string{"reply.drop", "reply.close", "request.hold"}

// atBacklog returns the consumers' requests again, as steps that occur while items are waiting for
// both.
func (w *StepWatch) atBacklog() (out []*history.Step) {
	for _, s := range w.Steps {
		if i := slices.Index(queueRoles, s.Role); i > 0 && s.Kind() == AtRequest && s.Under == CallTake {
			s.Role = BacklogRoles[i]
			out = append(out, &history.Step{Step: s.String(), Faults: backlogFaults})
		}
	}
	return out
}
