package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/scenarios/phases"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// omitUnsupported removes from the cells, and returns, the faults that the ensemble does not support and
// that a built-in scenario does not need. It removes phases without remaining faults, and writes the new
// scenario to the run folder. It logs the other unsupported faults: a run that needs one cannot pass.
func (c Config) omitUnsupported(ctx context.Context, t chaos.Target, cells []spec.Cell) ([]report.SkippedFault, error) {
	var out []report.SkippedFault
	for i := range c.Scenario.Phases {
		out = append(out, c.unsupportedFaults(ctx, t, i)...)
	}
	if len(out) == 0 {
		return nil, nil
	}
	reduced := map[*spec.Scenario]*spec.Scenario{}
	for i, cell := range cells {
		if reduced[cell.Scenario] == nil {
			reduced[cell.Scenario] = cell.Scenario.Without(out)
		}
		cells[i].Scenario = reduced[cell.Scenario]
	}
	return out, c.writeScenario(c.Scenario.Without(out))
}

// unsupportedFaults logs the faults of a phase that the ensemble does not support, and returns those not needed.
func (c Config) unsupportedFaults(ctx context.Context, t chaos.Target, phase int) (out []report.SkippedFault) {
	p := &c.Scenario.Phases[phase]
	logMissing := func(what string, err error) {
		c.Logf("phases.%d%s, so the run cannot pass (exit code %d): %s", phase, what, exitUnknown, skipReason(err))
	}
	for _, name := range p.FaultNames() {
		err := chaos.CheckEnsemble(ctx, name, t)
		switch {
		case err == nil:
		case p.CanOmit(name):
			out = append(out, report.SkippedFault{Phase: p.Name, Fault: name, Why: skipReason(err)})
			c.Logf("omitted %s from phase %s, because the fault is not available here: %s", name, p.Name, skipReason(err))
		default:
			logMissing(fmt.Sprintf(" (%s): %s is not available here", p.Name, name), err)
		}
	}
	if cause := phases.Causes[p.Cause]; cause != nil && p.Rounds > 0 {
		if err := cause.CheckAvailable(t.Ensemble); err != nil {
			logMissing(fmt.Sprintf(" (%s) cannot run here", p.Name), err)
		}
	}
	for i, f := range p.Faults {
		if err := chaos.CheckTarget(t.Ensemble, f.Target); err != nil {
			logMissing(fmt.Sprintf(".faults.%d (%s of %s) has no target in this ensemble", i, f.Fault, f.Target), err)
		}
	}
	return out
}

func skipReason(err error) string {
	return strings.TrimPrefix(err.Error(), chaos.ErrSkipped.Error()+": ")
}

const exitUnknown = 3

func (c Config) checkMembers() error {
	all, err := c.Scenario.Combinations()
	names := memberNames(c.Ensemble)
	for _, one := range all {
		var missing []error
		for at, f := range one.Scenario.Faults() {
			if target := f.TargetMember(); target != "" && !slices.Contains(names, target) && !c.isAddress(target) {
				missing = append(missing, fmt.Errorf("%s.target: %q is not a member; the members are %s", at, target, strings.Join(names, ", ")))
			}
		}
		if missing != nil {
			return errors.Join(missing...)
		}
	}
	return err
}

// isAddress reports whether target may be a member's address, unknown until zkbench has started the member.
func (c Config) isAddress(target string) bool {
	if c.isExternal() {
		return slices.Contains(c.Ensemble.Servers, target)
	}
	return strings.Contains(target, ":")
}

func memberNames(o ensembles.Options) (names []string) {
	n := cmp.Or(o.Members, 3) + o.Observers
	if len(o.Servers) > 0 {
		n = len(o.Servers)
	}
	for i := range n {
		name := fmt.Sprintf("zk%d", i+1)
		if i < len(o.External.Commands) {
			name = cmp.Or(o.External.Commands[i].Name, name)
		}
		names = append(names, name)
	}
	return names
}
