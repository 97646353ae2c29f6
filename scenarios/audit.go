package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// The cells of an audit are episodes. The calm ones are run first; they show the steps, and each
// step is then tested with each fault that applies to it.

const (
	episodeKind    = "episode"
	episodeClients = 3
	calmName       = "calm"
	allSteps       = "all" // for cells that do not concern a single step
)

type aim struct {
	step  step
	fault *stepFault
}

// String returns the name of a cell, such as "next exists #1/reply.drop".
func (a aim) String() string { return a.step.String() + "/" + a.fault.Name }

func parseAims(name string) ([]aim, error) {
	var out []aim
	for _, text := range strings.Split(name, " + ") {
		at, with, both := strings.Cut(text, "/")
		s, err := parseStep(at)
		if err != nil {
			return nil, err
		}
		if !both {
			return nil, fmt.Errorf("%q: want STEP/FAULT, for example %q", text, text+"/session.expire")
		}
		f := findStepFault(with)
		if f == nil {
			names := units.Names(StepFaults, func(f *stepFault) string { return f.Name })
			return nil, fmt.Errorf("%q: there is no fault %q of a step%s", text, with, units.Nearest(with, names))
		}
		if f.fits&s.kind() == 0 {
			return nil, fmt.Errorf("%q: %s does not fit that kind of step", text, f.Name)
		}
		out = append(out, aim{s, f})
	}
	return out, nil
}

func parseCell(name string) (provocation, error) {
	if what, ok := strings.CutPrefix(name, allSteps+"/"); ok {
		if what == calmName {
			return provocation{name: name, clients: episodeClients}, nil
		}
		i := slices.IndexFunc(provocations, func(p provocation) bool { return p.name == what })
		if i < 0 {
			names := units.Names(provocations, func(p provocation) string { return p.name })
			return provocation{}, fmt.Errorf("%q: there is no %q%s", name, what, units.Nearest(what, append(names, calmName)))
		}
		p := provocations[i]
		p.name = name
		return p, nil
	}
	aims, err := parseAims(name)
	if err != nil {
		return provocation{}, err
	}
	return provocation{name: name, clients: episodeClients, aims: aims}, nil
}

func (s *Scenario) audit() *Phase {
	if len(s.Phases) == 0 || s.Phases[0].Kind != episodeKind || len(s.Specimens) > 0 {
		return nil
	}
	return &s.Phases[0]
}

// auditCells returns the cells that an audit begins with: the named ones, or the calm ones.
func (s *Scenario) auditCells(p *Phase) (cells []cell, err error) {
	for _, name := range s.Subjects {
		subject, err := s.find(name)
		if err != nil {
			return nil, err
		}
		for _, named := range p.Cells {
			c, err := s.auditCell(subject, named)
			if err != nil {
				return nil, err
			}
			cells = append(cells, interleave([]cell{c}, s.Trials)...)
		}
		for k := 1; k <= calmTimes && len(p.Cells) == 0; k++ {
			c, err := s.auditCell(subject, allSteps+"/"+calmName)
			if err != nil {
				return nil, err
			}
			c.Trial = k
			cells = append(cells, c)
		}
	}
	return cells, nil
}

func (s *Scenario) auditCell(subject recipes.Subject, name string) (cell, error) {
	what, err := parseCell(name)
	if err != nil {
		return cell{}, err
	}
	hello := subject
	if subject.Start != nil && subject.Open == nil && subject.Variant == "" {
		hello.Variant = recipes.Predecessor // the variant of a driver is unknown until it has started
	}
	if what.fits != nil && !what.fits(hello) {
		return cell{}, fmt.Errorf("%q does not go with %s; of its kind go: %s", name, subject.Name, strings.Join(wholeLine(subject), ", "))
	}
	for _, a := range what.aims {
		switch {
		case !slices.Contains(rolesOf(subject), a.step.role):
			return cell{}, fmt.Errorf("%s is a %s: it has no %s, but %s", subject.Name, subject.Recipe, a.step.role, strings.Join(rolesOf(subject), ", "))
		case a.fault.cancels() && subject.NoCancel:
			return cell{}, fmt.Errorf("%q: %s cannot be called off", a, subject.Name)
		}
		if a.fault.process && subject.Start == nil && !s.Apart {
			return cell{}, fmt.Errorf("%s: %s", a.fault.Name, inOurProcess(subject.Name))
		}
	}
	step, fault := allSteps, strings.TrimPrefix(name, allSteps+"/")
	if len(what.aims) > 0 {
		i := strings.LastIndexByte(name, '/')
		step, fault = name[:i], name[i+1:]
	}
	return cell{Subject: subject, Clients: what.clients, Provocation: name, Step: step, Fault: fault, Scenario: s, aims: what.aims}, nil
}

func (s *Scenario) stepCells(subject recipes.Subject, w *stepWatch) (cells []cell, err error) {
	var errs []error
	for _, r := range w.records(subject) {
		for _, f := range r.Faults {
			if r.Step == allSteps && f == calmName {
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

func (s *Scenario) pairCells(single []cell, seed uint64) (pairs []cell, err error) {
	single = slices.DeleteFunc(slices.Clone(single), func(c cell) bool { return len(c.aims) == 0 || c.alone() })
	r := rand.New(rand.NewPCG(seed, 2))
	drawn := map[string]bool{}
	for range pairLimit {
		if len(single) < 2 {
			break
		}
		a, b := single[r.IntN(len(single))], single[r.IntN(len(single))]
		name := a.Provocation + " + " + b.Provocation
		if a.Subject.Name != b.Subject.Name || a.aims[0].step == b.aims[0].step || drawn[a.Subject.Name+name] {
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

// counted reports whether the members' own counters are used in the cell, so that no other trial
// may use the members at the same time.
func (c cell) counted() bool { return c.Step == allSteps && c.Fault == "line" }

func (c cell) driven() bool { return c.Subject.Start != nil }

func (c cell) alone() bool {
	return slices.ContainsFunc(c.aims, func(a aim) bool { return a.fault.alone != nil })
}

// episodesAtOnce is the number of episodes that run in parallel. They mostly wait; nothing is
// timed.
const episodesAtOnce = 16

// auditTries bounds the attempts at a cell whose fault could not be aimed or proven.
const auditTries = 3

type auditing struct {
	*runner
	scenario *Scenario
	watches  map[string]*stepWatch // steps of the calm episodes, by subject
	played   int
}

// audit runs the named cells; or else calm episodes, and then every step that occurred with every
// fault that applies to it.
func (r *runner) audit(ctx context.Context, s *Scenario, named []cell) error {
	r.estimate = nil // the number of cells is not known before
	r.kept = &recipes.TrialResources{}
	defer r.kept.Close()
	a := &auditing{runner: r, scenario: s, watches: map[string]*stepWatch{}}
	if len(s.audit().Cells) == 0 {
		for _, c := range named {
			a.watches[c.Subject.Name] = &stepWatch{also: s.audit().Also}
		}
	}
	calm := a.play(ctx, named, time.Time{})
	var cells []cell
	for _, name := range s.Subjects {
		more, err := a.cellsOf(name)
		if err != nil && !errors.Is(err, errNoSteps) {
			return err
		}
		calm, cells = errors.Join(calm, err), append(cells, more...)
	}
	until := time.Time{}
	if p := s.audit(); p.Depth > 1 && len(p.Cells) == 0 {
		var err error
		if cells, err = s.pairCells(cells, r.seed); err != nil {
			return err
		}
		until = time.Now().Add(p.Duration)
	}
	return errors.Join(calm, a.play(ctx, cells, until))
}

// play runs cells in parallel, but for cells that need the members alone and cells whose requests
// the members count.
func (a *auditing) play(ctx context.Context, cells []cell, until time.Time) error {
	first := a.played
	a.played += len(cells)
	cells, counted := split(cells, cell.counted)
	cells, alone := split(cells, cell.alone)
	b := concurrency{before: first, all: a.played, atOnce: episodesAtOnce, tries: auditTries, until: until}
	b.prepare = func(t *trial) { t.stage.watch = a.watches[t.stage.cell.Subject.Name] }
	err := a.runConcurrently(ctx, cells, b)
	b.before += len(cells)
	for _, group := range sharedGroups(alone) {
		if err == nil {
			err = a.runShared(ctx, group, b.before, b.all)
		}
		b.before += len(group)
	}
	if err == nil {
		b.atOnce, b.prepare = 1, func(t *trial) { t.stage.members.shared = false }
		err = a.runConcurrently(ctx, counted, b)
	}
	return err
}

// sharedGroups returns groups of cells that share one fault of members. Trials of drivers are few at
// a time.
func sharedGroups(cells []cell) (groups [][]cell) {
	for _, f := range StepFaults {
		if f.alone == nil {
			continue
		}
		ours, drivers := split(slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.memberFault() != f.alone }), cell.driven)
		groups = append(groups, slices.Collect(slices.Chunk(drivers, driversAtOnce()))...)
		atOnce := max(1, len(ours))
		if f.alone.target != "" { // all reconnect at the same time
			atOnce = driversAtOnce()
		}
		groups = append(groups, slices.Collect(slices.Chunk(ours, atOnce))...)
	}
	return groups
}

func (c cell) memberFault() *memberFault {
	for _, a := range c.aims {
		if a.fault.alone != nil {
			return a.fault.alone
		}
	}
	return nil
}

// cellsOf returns the cells of the steps that a subject's calm episodes showed; none if cells were
// named.
func (a *auditing) cellsOf(subject string) ([]cell, error) {
	w := a.watches[subject]
	switch {
	case w == nil:
		return nil, nil
	case len(w.steps) == 0:
		return nil, fmt.Errorf("%s: %w", subject, errNoSteps)
	}
	s, _ := a.scenario.find(subject)
	if a.scenario.Apart && s.Start == nil {
		s, _ = a.apart(s)
	}
	s.Tries, s.Variant = w.tries, w.variant
	return a.scenario.stepCells(s, w)
}

var errNoSteps = errors.New("no fault-free episode was completed: no steps were observed")

func split(cells []cell, is func(cell) bool) (others, those []cell) {
	return slices.DeleteFunc(slices.Clone(cells), is), slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return !is(c) })
}
