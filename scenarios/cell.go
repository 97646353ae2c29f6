package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"golang.org/x/sync/errgroup"
)

type cell struct {
	Subject recipes.Subject
	Clients int
	Trial   int // from 1; 0 if the cell is run once
	// Scenario is the scenario with the matrix's choice applied.
	Scenario *Scenario
	Choice   map[string]string
	// In a zoo: the script, and the guarantees that the subject must break; none for a sound
	// subject.
	Provocation string
	Caught      []string

	// In an audit: the step and the fault, which Provocation names together.
	Step, Fault string

	versions []ensembles.Version // versions of ZooKeeper that the ensemble runs; empty for the default

	aims   []aim // parsed from Provocation
	suffix string
}

// cells returns the cells of the matrix. The subject varies fastest, so that subjects are compared
// under the same conditions. If the scenario names trials, only those are returned.
func (s *Scenario) cells() ([]cell, error) {
	cells, err := s.everyCell()
	return s.chosen(cells), err
}

func (s *Scenario) everyCell() (all []cell, err error) {
	for _, versions := range s.perEnsemble() {
		cells, err := s.cellsOfOne()
		if err != nil {
			return nil, err
		}
		for i := range cells {
			cells[i].versions = versions
		}
		all = append(all, cells...)
	}
	return all, nil
}

func (s *Scenario) cellsOfOne() ([]cell, error) {
	if len(s.Specimens) > 0 {
		return s.zoo()
	}
	if p := s.audit(); p != nil {
		return s.auditCells(p)
	}
	combinations, err := s.combinations()
	if err != nil {
		return nil, err
	}
	var cells []cell
	for _, c := range combinations {
		for _, n := range s.Clients {
			var row []cell
			for _, name := range s.Subjects {
				subject, err := s.find(name)
				if err != nil {
					return nil, err
				}
				row = append(row, cell{Subject: subject, Clients: n, Scenario: c.scenario, Choice: c.params, suffix: c.suffix})
			}
			cells = append(cells, interleave(row, s.Trials)...)
		}
	}
	return cells, nil
}

// interleave repeats a row of cells, which differ only in their subject, n times: A B, then B A,
// then A B again. Neighbours run under the same load of the machine, and a drift favours none of
// them. For n of 1 or less it returns the row as it is.
func interleave(row []cell, n int) []cell {
	if n <= 1 {
		return row
	}
	var out []cell
	for k := 1; k <= n; k++ {
		turn := slices.Clone(row)
		for i := range turn {
			turn[i].Trial = k
		}
		if k%2 == 0 {
			slices.Reverse(turn)
		}
		out = append(out, turn...)
	}
	return out
}

// fewTrials is the number of trials of a cell that run regardless of the budget: fewer give no confidence
// interval.
const fewTrials = 6

// spent reports whether the budget, counted from the start of the first trial, forbids another
// repetition.
func (s *Scenario) spent(group []cell, elapsed time.Duration) bool {
	return s.Budget > 0 && elapsed > s.Budget && group[0].Trial > fewTrials
}

func (s *Scenario) validateTrials(bad problemFunc) {
	between(bad, "trials", s.Trials, 0, maxTrials)
	if p := s.audit(); p != nil && s.Trials > 1 && len(p.Cells) == 0 {
		bad("trials", "an audit runs each cell once: name the cells to repeat in phases.0.cells")
	}
	between(bad, "budget", s.Budget, 0, maxDuration)
	if s.Budget > 0 && s.Trials <= fewTrials {
		bad("budget", "the first %d trials of a cell run regardless of the budget: set more trials than that", fewTrials)
	}
	between(bad, "extra_time", s.ExtraTime, 0, maxDuration)
	if s.ExtraTime > 0 && (s.Budget == 0 || s.Base == "") {
		bad("extra_time", "it comes after a budget, for the thresholds on a base: it needs both")
	}
	if s.Base == "" {
		return
	}
	others := slices.DeleteFunc(slices.Clone(s.Subjects), func(name string) bool { return name == s.Base })
	switch {
	case len(others) == len(s.Subjects):
		if _, err := s.find(s.Base); err != nil {
			bad("base", "%v%s", err, units.Nearest(s.Base, s.Subjects))
			return
		}
		bad("base", "%s is not among the subjects %v", s.Base, s.Subjects)
	case len(others) == 0:
		bad("base", "there is no other subject to compare %s with", s.Base)
	case s.Trials < 2:
		bad("base", "comparing takes several trials of each subject: give trials, 10 or more")
	}
}

func (c cell) trialName() string {
	start := c.Scenario.Name + "-" + strings.ReplaceAll(c.Subject.Name, "/", "-") + c.versionSuffix()
	switch {
	case c.Provocation != "" && c.Trial > 0:
		return fmt.Sprintf("%s-%s-%d", start, fileName(c.Provocation), c.Trial)
	case c.Provocation != "":
		return start + "-" + fileName(c.Provocation)
	case c.Trial > 0:
		return fmt.Sprintf("%s-%d%s-%d", start, c.Clients, c.suffix, c.Trial)
	}
	return fmt.Sprintf("%s-%d%s", start, c.Clients, c.suffix)
}

// params returns the parameters of the cell's trial for result.json and thresholds. What the matrix
// varies is among them, under the name of its field: session_timeout, tick, drain.hold,
// drain.rounds. A choice for all phases is a parameter.
func (c cell) params() map[string]string {
	s := c.Scenario
	p := map[string]string{"session_timeout": s.SessionTimeout.String()}
	if s.Tick > 0 {
		p["tick"] = s.Tick.String()
	}
	if label := c.versionsLabel(); label != "" {
		p[versionKey] = label
	}
	for _, phase := range s.Phases {
		p[phase.Name+".hold"] = phase.Hold.String()
	}
	if s.Permits > 0 {
		p["permits"] = strconv.Itoa(s.Permits)
	}
	if s.Mix != (Mix{}) {
		p["mix"] = fmt.Sprintf("%d:%d", s.Mix.Read, s.Mix.Write)
	}
	c.name(p)
	for k, v := range s.Params {
		p[k] = v
	}
	return p
}

func (c cell) name(params map[string]string) {
	for key, value := range c.Choice {
		switch field := c.Scenario.field(key); {
		case key == allHold:
			for _, p := range c.Scenario.Phases {
				delete(params, p.Name+".hold")
			}
			params[key] = value
		case strings.HasPrefix(key, "params."):
		case params[field] == "":
			params[field] = value
		}
	}
}

type batch struct {
	tick     time.Duration       // the tick of the ensemble; 0 if the scenario sets none
	versions []ensembles.Version // the versions that it runs; empty if the scenario sets none
	cells    []cell
}

func (b *batch) takes(c cell) bool {
	return b.tick == c.Scenario.Tick && slices.Equal(b.versions, c.versions) && !c.Scenario.upgrades()
}

func (s *Scenario) batches() ([]batch, error) {
	cells, err := s.cells()
	if err != nil {
		return nil, err
	}
	var out []batch
	for _, c := range cells {
		if len(out) == 0 || !out[len(out)-1].takes(c) {
			out = append(out, batch{tick: c.Scenario.Tick, versions: c.versions})
		}
		b := &out[len(out)-1]
		b.cells = append(b.cells, c)
	}
	return out, nil
}

// repetitions decides when a cell needs no more repetitions: its budget is spent, and its comparison
// with the base is decided or the extra time is used up too.
type repetitions struct {
	scenario  *Scenario
	start     time.Time                        // of the first trial
	undecided func(history.Cell) (bool, error) // whether further trials may decide the comparison
	compared  []comparedCell
	log       func(format string, args ...any) // reports once that there is extra time
}

type comparedCell struct {
	history.Cell
	looks   int // number of evaluations
	next    int // number of pairs from which the comparison is evaluated again
	decided bool
}

// firstLook is the number of pairs of the first evaluation: with fewer there is no interval.
const firstLook = 8

// of reports whether the group, which repeats a cell, can be omitted.
//
// Each evaluation of the comparison is a look at the data. The confidence level of a look depends on
// its number (stats.Look), so a comparison is evaluated first with firstLook pairs, and again only
// when there are half as many more.
func (e *repetitions) of(group []cell) (bool, error) {
	s, elapsed := e.scenario, time.Since(e.start)
	switch {
	case !s.spent(group, elapsed):
		return false, nil
	case elapsed > s.Budget+s.ExtraTime:
		return true, nil
	}
	c := e.cell(group)
	pairs := group[0].Trial - 1
	if c.decided || pairs < max(firstLook, c.next) {
		return c.decided, nil
	}
	open, err := e.undecided(c.Cell)
	if err != nil {
		return false, err
	}
	c.looks++
	c.next = pairs * 3 / 2
	c.decided = !open
	if open && e.log != nil {
		e.log("inconclusive comparison with %s: up to %v more of trials", s.Base, s.ExtraTime)
		e.log = nil
	}
	return c.decided, nil
}

// look returns the number of the look that follows the trials of the group; 0 if the comparison is
// evaluated only once.
func (e *repetitions) look(group []cell) int {
	if e.scenario.ExtraTime == 0 {
		return 0
	}
	return e.cell(group).looks + 1
}

func (e *repetitions) cell(group []cell) *comparedCell {
	c := group[0].recorded()
	i := slices.IndexFunc(e.compared, func(x comparedCell) bool { return x.EqualExceptSubject(c) })
	if i < 0 {
		e.compared, i = append(e.compared, comparedCell{Cell: c}), len(e.compared)
	}
	return &e.compared[i]
}

// turns lets trials that are compared with each other alternate, one at a time: between two rounds
// of a drain a trial yields to the next. Successive rounds are milliseconds apart, so that other
// load of the machine affects all of them equally; successive trials are seconds apart, in which the
// load may change.
type turns struct {
	mu    sync.Mutex
	queue []*turnSlot // the first one has the turn
}

// turnSlot is the place of one trial in the queue of turns.
type turnSlot struct {
	turns *turns
	turn  chan struct{} // receives a value when the turn begins
}

// newTurns returns the seats of n trials; the first has the turn.
func newTurns(n int) []*turnSlot {
	t := &turns{}
	for range n {
		t.queue = append(t.queue, &turnSlot{turns: t, turn: make(chan struct{}, 1)})
	}
	t.wake()
	return slices.Clone(t.queue)
}

func (t *turns) wake() {
	if len(t.queue) > 0 {
		t.queue[0].turn <- struct{}{}
	}
}

func (s *turnSlot) acquire(ctx context.Context) error {
	if ctx.Err() != nil { // the turn may have come at the same time
		return context.Cause(ctx)
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// yield lets the other trials run, and returns when it is this trial's turn again.
func (s *turnSlot) yield(ctx context.Context) error {
	s.release(true)
	return s.acquire(ctx)
}

func (s *turnSlot) leave() { s.release(false) }

// release removes the seat from the queue, or moves it to the end if it stays. If it had the turn, the
// next one gets it.
func (s *turnSlot) release(stays bool) {
	t := s.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.queue, s)
	t.queue = slices.Delete(t.queue, i, i+1)
	if stays {
		t.queue = append(t.queue, s)
	}
	if i == 0 {
		t.wake()
	}
}

// sideBySide runs trials that are compared with each other in alternation. The first error ends all
// of them.
func sideBySide(ctx context.Context, trials []*trial) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range trials {
		g.Go(func() error {
			if err := t.run(ctx); err != nil {
				return fmt.Errorf("trial %s: %w", t.name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func subjects(group []cell) string {
	return strings.Join(units.Names(group, func(c cell) string { return c.Subject.Name }), " beside ")
}

// groups returns the cells in groups that alternate: if there is a base, the subjects of one
// repetition.
func groups(cells []cell, base string) [][]cell {
	var out [][]cell
	for i, c := range cells {
		if base != "" && i > 0 && c.Trial > 0 && c.Trial == cells[i-1].Trial && c.Clients == cells[i-1].Clients {
			out[len(out)-1] = append(out[len(out)-1], c)
			continue
		}
		out = append(out, []cell{c})
	}
	return out
}
