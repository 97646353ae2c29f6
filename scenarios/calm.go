package scenarios

import (
	"slices"
	"sync"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// calm is an episode without a fault. It records the steps.
func calm(p *episodeRun) {
	var scripts []*wire.Transcript
	for _, c := range p.st.clients {
		scripts = append(scripts, c.wire.Record())
	}
	p.episode(nil)
	var seen []seenStep
	for i, role := range rolesOf(p.st.cell.Subject)[:episodeClients] {
		seen = append(seen, stepsOf(role, scripts[i].Frames(), p.course.made[i])...)
	}
	if w := p.st.watch; w != nil && w.add(seen, p.st.cell.Subject) {
		for _, r := range w.records(p.st.cell.Subject) {
			r.At = p.st.clock.Now()
			p.st.record.Record(r)
		}
	}
}

// calmTimes is the number of calm episodes. Steps that only one of them has occur by chance.
const calmTimes = 3

// stepWatch collects the steps of the calm episodes of a subject.
type stepWatch struct {
	mu    sync.Mutex
	times int
	tries bool // the subject has a timed try; of a driver this is known when it has started
	// variant is the subject's; of a driver it is known when it has started
	variant recipes.Variant
	steps   []seenStep
}

func (w *stepWatch) add(seen []seenStep, of recipes.Subject) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tries, w.variant = of.Tries, of.Variant
	if w.times++; w.times > 1 {
		seen = inBoth(w.steps, seen)
	}
	w.steps = seen
	return w.times == calmTimes
}

func (w *stepWatch) records(subject recipes.Subject) []*history.Step {
	out := []*history.Step{{Step: allSteps, Faults: append([]string{calmName}, wholeLine(subject)...)}}
	for _, s := range w.steps {
		r := &history.Step{Step: s.String()}
		for _, f := range stepFaults {
			if !f.named && f.at(s, subject) {
				r.Faults = append(r.Faults, f.name)
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
func (w *stepWatch) atBacklog() (out []*history.Step) {
	for _, s := range w.steps {
		if i := slices.Index(queueRoles, s.role); i > 0 && s.kind() == atRequest && s.under == callTake {
			s.role = backlogRoles[i]
			out = append(out, &history.Step{Step: s.String(), Faults: backlogFaults})
		}
	}
	return out
}
