package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
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
	between(bad, "budget", s.Budget, 0, maxDuration)
	if s.Budget > 0 && s.Trials <= fewTrials {
		bad("budget", "the first %d trials of a cell are run in any case: it needs more trials than that", fewTrials)
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
