package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

const (
	EpisodeKind    = "episode"
	EpisodeClients = 3
	FaultFreeCell  = "calm"
	AllSteps       = "all" // the step of cells that are not limited to one step
)

// Injection is a fault and the step at which it is injected.
type Injection struct {
	Step  Step
	Fault *StepFault
}

// String returns the name of a cell, such as "next exists #1/reply.drop".
func (a Injection) String() string { return a.Step.String() + "/" + a.Fault.Name }

// Script is what the clients do in one cell of an audit, and where faults are injected.
type Script struct {
	Name       string
	about      string // one line; includes the reason why the script is not limited to one step
	clients    int
	AppliesTo  func(recipes.Subject) bool
	Injections []Injection // of an episode: the faults and their steps
}

// scripts are those that are not limited to one step.
var scripts = []Script{
	{Name: "crowd", clients: 8, AppliesTo: isGrantable,
		about: "eight clients contend for at least 40 grants; finds bugs that occur by chance or with many clients"},
	{Name: "wrapped-numbers", clients: 6, AppliesTo: isGrantable,
		about: "six clients contend, with sequence numbers as after an overflow of the parent's counter; not limited to one step"},
	{Name: "newcomers", clients: 8, AppliesTo: canCancelWaiting,
		about: "seven clients join behind a holder and give up; repeated eight times, because servers list new nodes in random order"},
	{Name: "line", clients: 10, AppliesTo: drainsLine,
		about: "a line of ten clients drains once; the cost of a hand-off is counted as the line grows"},
	{Name: "backlog", clients: 2, AppliesTo: isQueue,
		about: "five items are queued before any consumer takes one; in an episode, each item is taken as soon as it is put"},
}

func isQueue(s recipes.Subject) bool { return s.Recipe == recipes.RecipeQueue }

func isGrantable(s recipes.Subject) bool { return !isQueue(s) }

func isContended(s recipes.Subject) bool { return isGrantable(s) && s.Recipe != recipes.RecipeBarrier }

func canCancelWaiting(s recipes.Subject) bool { return isContended(s) && !s.NoCancel }

// drainsLine reports whether draining a line shows more than other scripts: the cost of a hand-off, or whether each
// release of a semaphore admits a waiter.
func drainsLine(s recipes.Subject) bool {
	return isGrantable(s) && (s.Formulas.Drain != nil || s.Variant != "" || s.Recipe == recipes.RecipeSemaphore)
}

func applicableScripts(s recipes.Subject) (names []string) {
	for _, p := range scripts {
		if p.AppliesTo(s) {
			names = append(names, p.Name)
		}
	}
	return names
}

func Scripts() (out [][2]string) {
	for _, p := range scripts {
		out = append(out, [2]string{p.Name, p.about})
	}
	return out
}

// ParseCell parses a cell's name: all/PROVOCATION, STEP/FAULT, or several STEP/FAULT joined by " + ".
func ParseCell(name string) (Script, error) {
	if script, ok := strings.CutPrefix(name, AllSteps+"/"); ok {
		if script == FaultFreeCell {
			return Script{Name: name, clients: EpisodeClients}, nil
		}
		i := slices.IndexFunc(scripts, func(p Script) bool { return p.Name == script })
		if i < 0 {
			names := units.Names(scripts, func(p Script) string { return p.Name })
			return Script{}, fmt.Errorf("%q: there is no script %q%s", name, script, units.Nearest(script, append(names, FaultFreeCell)))
		}
		p := scripts[i]
		p.Name = name
		return p, nil
	}
	out := Script{Name: name, clients: EpisodeClients}
	for text := range strings.SplitSeq(name, " + ") {
		stepText, faultName, found := strings.Cut(text, "/")
		s, err := parseStep(stepText)
		f := FindStepFault(faultName)
		switch {
		case err != nil:
			return Script{}, err
		case !found:
			return Script{}, fmt.Errorf("%q: want STEP/FAULT, for example %q", text, text+"/session.expire")
		case f == nil:
			names := units.Names(StepFaults, func(f *StepFault) string { return f.Name })
			return Script{}, fmt.Errorf("%q: there is no step fault %q%s", text, faultName, units.Nearest(faultName, names))
		case f.stepKinds&s.Kind() == 0:
			return Script{}, fmt.Errorf("%q: %s does not apply to this kind of step", text, f.Name)
		}
		out.Injections = append(out.Injections, Injection{s, f})
	}
	return out, nil
}

// AuditPhase returns the phase of an audit; nil if the scenario is not an audit.
func (s *Scenario) AuditPhase() *Phase {
	if len(s.Phases) == 0 || s.Phases[0].Kind != EpisodeKind || len(s.Specimens) > 0 {
		return nil
	}
	return &s.Phases[0]
}

// initialCells returns the cells with which an audit begins: the named cells, or the calm episodes.
func (s *Scenario) initialCells(p *Phase) (cells []Cell, err error) {
	if !slices.Equal(s.Clients, []int{EpisodeClients}) {
		return nil, fmt.Errorf("an episode has %d clients: set clients to [%d]", EpisodeClients, EpisodeClients)
	}
	processFault := slices.IndexFunc(p.Also, func(name string) bool { f := FindStepFault(name); return f != nil && f.process })
	for _, name := range s.Subjects {
		subject, err := s.Find(name)
		if err != nil {
			return nil, err
		}
		if subject.Start != nil || subject.PipeLatency != nil {
			processFault = -1
		}
		names, times := p.Cells, s.Trials
		if len(names) == 0 {
			names, times = []string{AllSteps + "/" + FaultFreeCell}, FaultFreeEpisodes
		}
		for _, named := range names {
			c, err := s.auditCell(subject, named)
			if err != nil {
				return nil, err
			}
			cells = append(cells, interleave([]Cell{c}, times)...)
		}
	}
	if processFault >= 0 {
		return nil, fmt.Errorf("also: %s acts on a client's process, but no subject runs in a process of its own: set apart: true (--set apart=true)", p.Also[processFault])
	}
	return cells, nil
}

func (s *Scenario) auditCell(subject recipes.Subject, name string) (Cell, error) {
	parsed, err := ParseCell(name)
	if err != nil {
		return Cell{}, err
	}
	declared := subject
	if subject.Start != nil && subject.Open == nil && subject.Variant == "" {
		declared.Variant = recipes.Predecessor // the variant of a driver is unknown until it has started
	}
	if parsed.AppliesTo != nil && !parsed.AppliesTo(declared) {
		return Cell{}, fmt.Errorf("%q does not apply to %s; applicable scripts: %s", name, subject.Name, strings.Join(applicableScripts(subject), ", "))
	}
	for _, a := range parsed.Injections {
		switch {
		case !slices.Contains(RolesOf(subject), a.Step.Role):
			return Cell{}, fmt.Errorf("%s is a %s, which has no role %s; its roles are %s", subject.Name, subject.Recipe, a.Step.Role, strings.Join(RolesOf(subject), ", "))
		case a.Fault.cancels() && subject.NoCancel:
			return Cell{}, fmt.Errorf("%q: the calls of %s cannot be cancelled", a, subject.Name)
		case a.Fault.process && subject.Start == nil && !s.Apart:
			return Cell{}, fmt.Errorf("%s: %s", a.Fault.Name, noProcessReason(subject.Name))
		}
	}
	step, fault := AllSteps, strings.TrimPrefix(name, AllSteps+"/")
	if len(parsed.Injections) > 0 {
		i := strings.LastIndexByte(name, '/')
		step, fault = name[:i], name[i+1:]
	}
	return Cell{Subject: subject, Clients: parsed.clients, Provocation: name, Step: step, Fault: fault, Scenario: s, Injections: parsed.Injections}, nil
}

// StepCells returns the cells of the observed steps: each step with every fault that applies to it.
func (s *Scenario) StepCells(subject recipes.Subject, w *StepWatch) (cells []Cell, err error) {
	var errs []error
	for _, r := range w.Records(subject) {
		for _, f := range r.Faults {
			if r.Step == AllSteps && f == FaultFreeCell {
				continue
			}
			c, err := s.auditCell(subject, r.Step+"/"+f)
			cells, errs = append(cells, c), append(errs, err)
		}
	}
	return cells, errors.Join(errs...)
}

// UsesCounters reports whether the cell uses the members' own counters: no other trial may run at the same time.
func (c Cell) UsesCounters() bool { return c.Step == AllSteps && c.Fault == "line" }

// HasDriver reports whether a driver runs the clients.
func (c Cell) HasDriver() bool { return c.Subject.Start != nil }

// AffectsMembers reports whether a fault affects members: only cells with the same fault may run at the same time.
func (c Cell) AffectsMembers() bool { return c.MemberFault() != nil }

// MemberFault returns the first fault of members among the cell's injections, or nil.
func (c Cell) MemberFault() *MemberFault {
	for _, a := range c.Injections {
		if a.Fault.MemberFault != nil {
			return a.Fault.MemberFault
		}
	}
	return nil
}
