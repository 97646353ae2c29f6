package spec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

const (
	EpisodeKind    = "episode"
	EpisodeClients = 3
	CalmName       = "calm"
	AllSteps       = "all" // the step of cells that are not limited to one step
)

// Injection is a fault and the step at which it is injected.
type Injection struct {
	Step  Step
	Fault *StepFault
}

// String returns the name of a cell, such as "next exists #1/reply.drop".
func (a Injection) String() string { return a.Step.String() + "/" + a.Fault.Name }

// Provocation is a script that is run on a subject in one cell of an audit.
type Provocation struct {
	Name       string
	about      string // one line; includes the reason why the script is not limited to one step
	clients    int
	Fits       func(recipes.Subject) bool
	Injections []Injection // of an episode: the faults and their steps
}

// provocations are the scripts that are not limited to one step.
var provocations = []Provocation{
	{Name: "crowd", clients: 8, Fits: isGrantable,
		about: "eight clients contend for at least 40 grants; finds bugs that occur by chance or with many clients"},
	{Name: "wrapped-numbers", clients: 6, Fits: isGrantable,
		about: "six clients contend, with sequence numbers as after an overflow of the parent's counter; not limited to one step"},
	{Name: "newcomers", clients: 8, Fits: forNewcomers,
		about: "seven clients join behind a holder and give up; repeated eight times, because servers list new nodes in random order"},
	{Name: "line", clients: 10, Fits: forFormula,
		about: "a line of ten clients drains once; the cost of a hand-off is counted as the line grows"},
	{Name: "backlog", clients: 2, Fits: forQueues,
		about: "five items are queued before any consumer takes one; in an episode, each item is taken as soon as it is put"},
}

func forQueues(s recipes.Subject) bool { return s.Recipe == recipes.RecipeQueue }

func isGrantable(s recipes.Subject) bool { return !forQueues(s) } // and for elections

func forNewcomers(s recipes.Subject) bool {
	return isGrantable(s) && !s.NoCancel && s.Recipe != recipes.RecipeBarrier
}

func forFormula(s recipes.Subject) bool {
	return isGrantable(s) && (s.Formulas.Drain != nil || s.Variant != "")
}

func applicableScripts(s recipes.Subject) (names []string) {
	for _, p := range provocations {
		if p.Fits(s) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Scripts returns the name and the description of every script that is not limited to one step.
func Scripts() (out [][2]string) {
	for _, p := range provocations {
		out = append(out, [2]string{p.Name, p.about})
	}
	return out
}

// ParseCell parses a cell's name: all/PROVOCATION, STEP/FAULT, or several STEP/FAULT joined by " + ".
func ParseCell(name string) (Provocation, error) {
	if what, ok := strings.CutPrefix(name, AllSteps+"/"); ok {
		if what == CalmName {
			return Provocation{Name: name, clients: EpisodeClients}, nil
		}
		i := slices.IndexFunc(provocations, func(p Provocation) bool { return p.Name == what })
		if i < 0 {
			names := units.Names(provocations, func(p Provocation) string { return p.Name })
			return Provocation{}, fmt.Errorf("%q: there is no script %q%s", name, what, units.Nearest(what, append(names, CalmName)))
		}
		p := provocations[i]
		p.Name = name
		return p, nil
	}
	out := Provocation{Name: name, clients: EpisodeClients}
	for text := range strings.SplitSeq(name, " + ") {
		at, with, both := strings.Cut(text, "/")
		s, err := parseStep(at)
		if err != nil {
			return Provocation{}, err
		}
		if !both {
			return Provocation{}, fmt.Errorf("%q: want STEP/FAULT, for example %q", text, text+"/session.expire")
		}
		f := FindStepFault(with)
		if f == nil {
			names := units.Names(StepFaults, func(f *StepFault) string { return f.Name })
			return Provocation{}, fmt.Errorf("%q: there is no step fault %q%s", text, with, units.Nearest(with, names))
		}
		if f.fits&s.Kind() == 0 {
			return Provocation{}, fmt.Errorf("%q: %s does not apply to this kind of step", text, f.Name)
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

// auditCells returns the cells with which an audit begins: the named cells, or the calm episodes.
func (s *Scenario) auditCells(p *Phase) (cells []Cell, err error) {
	ofProcesses := slices.IndexFunc(p.Also, func(name string) bool { f := FindStepFault(name); return f != nil && f.process })
	for _, name := range s.Subjects {
		subject, err := s.Find(name)
		if err != nil {
			return nil, err
		}
		if subject.Start != nil || subject.PipeLatency != nil {
			ofProcesses = -1
		}
		names, times := p.Cells, s.Trials
		if len(names) == 0 {
			names, times = []string{AllSteps + "/" + CalmName}, CalmTimes
		}
		for _, named := range names {
			c, err := s.auditCell(subject, named)
			if err != nil {
				return nil, err
			}
			cells = append(cells, interleave([]Cell{c}, times)...)
		}
	}
	if ofProcesses >= 0 {
		return nil, fmt.Errorf("also: %s acts on a client's process, but no subject runs in a process of its own: set apart: true (--set apart=true)", p.Also[ofProcesses])
	}
	return cells, nil
}

func (s *Scenario) auditCell(subject recipes.Subject, name string) (Cell, error) {
	what, err := ParseCell(name)
	if err != nil {
		return Cell{}, err
	}
	hello := subject
	if subject.Start != nil && subject.Open == nil && subject.Variant == "" {
		hello.Variant = recipes.Predecessor // the variant of a driver is unknown until it has started
	}
	if what.Fits != nil && !what.Fits(hello) {
		return Cell{}, fmt.Errorf("%q does not apply to %s; applicable scripts: %s", name, subject.Name, strings.Join(applicableScripts(subject), ", "))
	}
	for _, a := range what.Injections {
		switch {
		case !slices.Contains(RolesOf(subject), a.Step.Role):
			return Cell{}, fmt.Errorf("%s is a %s, which has no role %s; its roles are %s", subject.Name, subject.Recipe, a.Step.Role, strings.Join(RolesOf(subject), ", "))
		case a.Fault.cancels() && subject.NoCancel:
			return Cell{}, fmt.Errorf("%q: the calls of %s cannot be cancelled", a, subject.Name)
		}
		if a.Fault.process && subject.Start == nil && !s.Apart {
			return Cell{}, fmt.Errorf("%s: %s", a.Fault.Name, noProcessReason(subject.Name))
		}
	}
	step, fault := AllSteps, strings.TrimPrefix(name, AllSteps+"/")
	if len(what.Injections) > 0 {
		i := strings.LastIndexByte(name, '/')
		step, fault = name[:i], name[i+1:]
	}
	return Cell{Subject: subject, Clients: what.clients, Provocation: name, Step: step, Fault: fault, Scenario: s, Injections: what.Injections}, nil
}

// StepCells returns the cells of the observed steps: each step with every fault that applies to it.
func (s *Scenario) StepCells(subject recipes.Subject, w *StepWatch) (cells []Cell, err error) {
	var errs []error
	for _, r := range w.Records(subject) {
		for _, f := range r.Faults {
			if r.Step == AllSteps && f == CalmName {
				continue
			}
			c, err := s.auditCell(subject, r.Step+"/"+f)
			cells, errs = append(cells, c), append(errs, err)
		}
	}
	return cells, errors.Join(errs...)
}

// pairLimit bounds the number of pairs; a time budget usually ends the audit earlier.
const pairLimit = 2000

// PairCells combines random cells of one fault into cells of two faults. No pair occurs twice.
func (s *Scenario) PairCells(single []Cell, seed uint64) (pairs []Cell, err error) {
	single = slices.DeleteFunc(slices.Clone(single), func(c Cell) bool { return len(c.Injections) == 0 || c.AffectsMembers() })
	r := rand.New(rand.NewPCG(seed, 2))
	drawn := map[string]bool{}
	for range pairLimit {
		if len(single) < 2 {
			break
		}
		a, b := single[r.IntN(len(single))], single[r.IntN(len(single))]
		name := a.Provocation + " + " + b.Provocation
		if a.Subject.Name != b.Subject.Name || a.Injections[0].Step == b.Injections[0].Step || drawn[a.Subject.Name+name] {
			continue
		}
		drawn[a.Subject.Name+name] = true
		c, err := s.auditCell(a.Subject, name)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, c)
	}
	return pairs, nil
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
