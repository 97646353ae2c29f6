package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Cell is a cell of the matrix: one trial.
type Cell struct {
	Subject recipes.Subject
	Clients int
	Trial   int // from 1; 0 if the cell is run once
	// Scenario is the scenario with Choice, the values from the matrix, applied.
	Scenario *Scenario
	Choice   map[string]string
	// In a zoo: the script, and the guarantees that the subject must break; none if the subject is
	// correct.
	Provocation        string
	ExpectedViolations []string

	// In an audit: the step and the fault, which Provocation names together.
	Step, Fault string

	Injections []Injection         // parsed from Provocation
	versions   []ensembles.Version // versions of ZooKeeper that the ensemble runs; empty for the default
	suffix     string
}

// Cells returns the cells of the matrix. The subject varies fastest, so that subjects are compared
// under the same conditions. If the scenario names trials (Only), Cells returns only these.
func (s *Scenario) Cells() ([]Cell, error) {
	cells, err := s.everyCell()
	if len(s.Only) > 0 {
		cells = slices.DeleteFunc(cells, func(c Cell) bool { return !slices.Contains(s.Only, c.TrialName()) })
	}
	return cells, err
}

func (s *Scenario) everyCell() (all []Cell, err error) {
	for _, versions := range s.PerEnsemble() {
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

func (s *Scenario) cellsOfOne() ([]Cell, error) {
	if len(s.Specimens) > 0 {
		return s.zoo()
	}
	if p := s.AuditPhase(); p != nil {
		return s.initialCells(p)
	}
	combinations, err := s.Combinations()
	if err != nil {
		return nil, err
	}
	var cells []Cell
	for _, c := range combinations {
		for _, n := range s.Clients {
			var row []Cell
			for _, name := range s.Subjects {
				if c.Subject, err = s.Find(name); err != nil {
					return nil, err
				}
				c.Clients = n
				row = append(row, c)
			}
			cells = append(cells, interleave(row, s.Trials)...)
		}
	}
	return cells, nil
}

// interleave repeats a row of cells, which differ only in their subject, n times: A B, then B A,
// then A B again. Neighbours run under the same load of the machine, and a drift favours none of
// them. If n is 1 or less, interleave returns the row unchanged.
func interleave(row []Cell, n int) []Cell {
	if n <= 1 {
		return row
	}
	var out []Cell
	for k := 1; k <= n; k++ {
		for _, c := range row {
			c.Trial = k
			out = append(out, c)
		}
		if k%2 == 0 {
			slices.Reverse(out[len(out)-len(row):])
		}
	}
	return out
}

// minTrials are the trials of a cell that ignore the budget: with fewer there is no confidence interval.
const minTrials = 6

// BudgetSpent reports whether the budget allows no repetition after that time since the first trial began.
func (s *Scenario) BudgetSpent(group []Cell, elapsed time.Duration) bool {
	return s.Budget > 0 && elapsed > s.Budget && group[0].Trial > minTrials
}

func (s *Scenario) validateTrials(bad ProblemFunc) {
	Between(bad, "trials", s.Trials, 0, maxTrials)
	if p := s.AuditPhase(); p != nil && s.Trials > 1 && len(p.Cells) == 0 {
		bad("trials", "an audit runs each cell once; to repeat cells, name them in phases.0.cells")
	}
	Between(bad, "budget", s.Budget, 0, MaxDuration)
	if s.Budget > 0 && s.Trials <= minTrials {
		bad("budget", "the first %d trials of a cell run regardless of the budget: set trials to a larger number", minTrials)
	}
	Between(bad, "extra_time", s.ExtraTime, 0, MaxDuration)
	if s.ExtraTime > 0 && (s.Budget == 0 || s.Base == "") {
		bad("extra_time", "requires budget and base: when the budget is used up, extra trials run until the thresholds on the base are decided")
	}
	if s.Base == "" {
		return
	}
	switch {
	case !slices.Contains(s.Subjects, s.Base):
		bad("base", "%s is not among the subjects%s", s.Base, units.Nearest(s.Base, s.Subjects))
	case len(s.Subjects) == 1:
		bad("base", "there is no other subject to compare %s with", s.Base)
	case s.Trials < 2:
		bad("base", "a comparison requires several trials of each subject: set trials to 10 or more")
	}
}

// TrialName returns the trial's name, which is unique in the scenario.
func (c Cell) TrialName() string {
	name := c.Scenario.Name + "-" + strings.ReplaceAll(c.Subject.Name, "/", "-") + c.VersionSuffix() + "-"
	if c.Provocation != "" {
		name += fileName(c.Provocation)
	} else {
		name += strconv.Itoa(c.Clients) + c.suffix
	}
	if c.Trial > 0 {
		name += "-" + strconv.Itoa(c.Trial)
	}
	return name
}

// Params returns the parameters of the cell's trial for result.json and thresholds. They include the
// values from the matrix by the names of their fields, such as session_timeout, tick, drain.hold or
// drain.rounds. A value for all phases is one parameter.
func (c Cell) Params() map[string]string {
	s := c.Scenario
	p := map[string]string{"session_timeout": s.SessionTimeout.String()}
	if s.Tick > 0 {
		p["tick"] = s.Tick.String()
	}
	if label := c.versionsLabel(); label != "" {
		p[VersionKey] = label
	}
	for _, phase := range s.Phases {
		p[phase.Name+".hold"] = phase.Hold.String()
	}
	if s.Permits > 0 {
		p["permits"] = strconv.Itoa(s.Permits)
	}
	if s.Paths > 1 {
		p["paths"] = strconv.Itoa(s.Paths)
	}
	if s.Mix != (Mix{}) {
		p["mix"] = fmt.Sprintf("%d:%d", s.Mix.Read, s.Mix.Write)
	}
	for key, value := range c.Choice {
		switch field := s.field(key); {
		case key == allHold:
			for _, phase := range s.Phases {
				delete(p, phase.Name+".hold")
			}
			p[key] = value
		case strings.HasPrefix(key, "params."):
		case p[field] == "":
			p[field] = value
		}
	}
	maps.Copy(p, s.Params)
	return p
}

// Batch is cells that run on one ensemble.
type Batch struct {
	Tick     time.Duration       // the tick of the ensemble; 0 if the scenario does not set it
	Versions []ensembles.Version // the versions that the ensemble runs; empty if the scenario sets none
	Cells    []Cell
}

// Batches returns the cells of the scenario in the order in which they run.
func (s *Scenario) Batches() (out []Batch, err error) {
	cells, err := s.Cells()
	for _, c := range cells {
		if last := len(out) - 1; last >= 0 && out[last].Tick == c.Scenario.Tick &&
			slices.Equal(out[last].Versions, c.versions) && !c.Scenario.Upgrades() {
			out[last].Cells = append(out[last].Cells, c)
		} else {
			out = append(out, Batch{Tick: c.Scenario.Tick, Versions: c.versions, Cells: []Cell{c}})
		}
	}
	return out, err
}

// Permits returns the number of permits; 0 unless the subject is a semaphore.
func (c Cell) Permits() int {
	if c.Subject.Recipe != recipes.RecipeSemaphore {
		return 0
	}
	return c.Scenario.PermitCount()
}

// Recorded returns the cell in the form that is stored in the history and in the result.
func (c Cell) Recorded() history.Cell {
	s := c.Scenario
	return history.Cell{
		Scenario: s.Name, Subject: c.Subject.Name, Clients: c.Clients, Params: c.Params(),
		Base: s.Base, Script: c.Provocation, Step: c.Step, Fault: c.Fault, Phases: s.digest(),
	}
}

func (s *Scenario) digest() string {
	text, err := (&Scenario{Phases: s.Phases}).Dump()
	if err != nil {
		return "" // unknown
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
