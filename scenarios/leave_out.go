package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report"
)

// isBuiltin reports whether a text equals the built-in scenario of this name.
func isBuiltin(name string, text []byte) bool {
	own, err := builtin.ReadFile("builtin/" + name + ".yaml")
	return err == nil && bytes.Equal(own, text)
}

// markBuiltin marks the faults that the user has not requested: the faults of phases without an override
// of faults.
func (s *Scenario) markBuiltin(overrides []string) {
	for i := range s.Phases {
		p := &s.Phases[i]
		asked := slices.ContainsFunc(overrides, func(o string) bool {
			path, _, _ := strings.Cut(o, "=")
			steps := strings.Split(path, ".")
			return steps[0] == "phases" && (len(steps) == 1 || (steps[1] == strconv.Itoa(i) || steps[1] == p.Name) &&
				(len(steps) == 2 || steps[2] == "faults" || steps[2] == "rounds" || steps[2] == "cause"))
		})
		for j := range p.Faults {
			p.Faults[j].builtin = !asked
		}
		p.builtin = !asked
	}
}

// markAs marks the faults as they are marked in a scenario with the same phases.
func (s *Scenario) markAs(like *Scenario) {
	for i := range s.Phases {
		s.Phases[i].builtin = i < len(like.Phases) && like.Phases[i].builtin
		for j := range s.Phases[i].Faults {
			s.Phases[i].Faults[j].builtin = i < len(like.Phases) && j < len(like.Phases[i].Faults) && like.Phases[i].Faults[j].builtin
		}
	}
}

// leaveOut removes from the cells, and returns, the faults that a built-in scenario does not need
// and the ensemble does not support; the scenario in the run folder is the scenario that is run. A phase
// that loses all its faults is removed. The rest is reported: a run that needs an unsupported fault
// cannot pass.
func (c Config) leaveOut(ctx context.Context, t chaos.Target, cells []cell) ([]report.LeftOut, error) {
	var out []report.LeftOut
	for i := range c.Scenario.Phases {
		out = append(out, c.lacking(ctx, t, i)...)
	}
	if len(out) == 0 {
		return nil, nil
	}
	less := map[*Scenario]*Scenario{}
	for i, cell := range cells {
		if less[cell.Scenario] == nil {
			less[cell.Scenario] = cell.Scenario.without(out)
		}
		cells[i].Scenario = less[cell.Scenario]
	}
	return out, c.writeScenario(c.Scenario.without(out))
}

// lacking returns the faults of a phase that the ensemble does not support, and those of them that
// the phase does not need.
func (c Config) lacking(ctx context.Context, t chaos.Target, phase int) (out []report.LeftOut) {
	p := &c.Scenario.Phases[phase]
	cannot := func(what string, err error) {
		c.Logf("phases.%d%s, and without it nothing can pass (exit %d): %s", phase, what, exitUnknown, reasonWithout(err))
	}
	for _, name := range p.faultNames() {
		err := chaos.Lacking(ctx, name, t)
		switch {
		case err == nil:
		case p.spares(name):
			out = append(out, report.LeftOut{Phase: p.Name, Fault: name, Why: reasonWithout(err)})
			c.Logf("omitted: %s of phase %s, not available here: %s", name, p.Name, reasonWithout(err))
		default:
			cannot(fmt.Sprintf(" (%s): %s is not available here", p.Name, name), err)
		}
	}
	if cause := causes[p.Cause]; cause != nil && p.Rounds > 0 {
		if err := cause.lacking(t.Ensemble); err != nil {
			cannot(fmt.Sprintf(" (%s) cannot run here", p.Name), err)
		}
	}
	for i, f := range p.Faults {
		if err := chaos.NoTarget(t.Ensemble, f.Target); err != nil {
			cannot(fmt.Sprintf(".faults.%d (%s of %s) has no target here", i, f.Fault, f.Target), err)
		}
	}
	return out
}

func reasonWithout(err error) string {
	return strings.TrimPrefix(err.Error(), chaos.ErrSkipped.Error()+": ")
}

const exitUnknown = 3

// spares reports whether the phase can do without all faults of that name: the user has not
// requested them, and the phase's question does not need them. A phase of a built-in scenario whose
// kind injects the fault is omitted as a whole.
func (p *Phase) spares(name string) bool {
	if p.makes(name) {
		return p.builtin
	}
	those := slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return f.Fault != name })
	return len(those) > 0 && !slices.ContainsFunc(those, func(f Fault) bool { return f.Essential || !f.builtin })
}

// makes reports whether the kind of the phase injects the fault, as a failover by the death of a
// member does.
func (p *Phase) makes(name string) bool {
	return !slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Fault == name })
}

func (s *Scenario) without(out []report.LeftOut) *Scenario {
	less := *s
	less.Phases = nil
	for _, p := range s.Phases {
		if slices.ContainsFunc(out, func(l report.LeftOut) bool { return l.Phase == p.Name && p.makes(l.Fault) }) {
			continue
		}
		all := len(p.Faults)
		p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool {
			return slices.ContainsFunc(out, func(l report.LeftOut) bool { return l.Phase == p.Name && l.Fault == f.Fault })
		})
		if all == 0 || len(p.Faults) > 0 {
			less.Phases = append(less.Phases, p)
		}
	}
	return &less
}
