// Package scenarios says what is measured, and drives it: a [Scenario] is read from
// YAML (some are built in), spans a matrix of trials, and each trial sends clients
// of one subject through phases while faults strike. What happened goes into a
// history; what it means is concluded by package report, afterwards.
package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// Scenario is what a run measures: a matrix of subjects and client counts, the
// phases that each trial goes through, and the conditions on the result.
type Scenario struct {
	Name           string        `yaml:"name"`             // a word; it names the run folder and the trials
	About          string        `yaml:"about,omitempty"`  // what is asked, for people
	Subjects       []string      `yaml:"subjects,flow"`    // what is tested (zkbench list subjects), each beside the others
	Clients        []int         `yaml:"clients,flow"`     // how many clients compete or consume; each count is a trial of its own
	SessionTimeout time.Duration `yaml:"session_timeout"`  // what clients ask for; the servers grant 2 to 20 ticks
	Tick           time.Duration `yaml:"tick,omitempty"`   // ZooKeeper's tickTime; 0 leaves it to --tick. Each tick has an ensemble of its own
	Warmup         time.Duration `yaml:"warmup,omitempty"` // load before the first trial, unrecorded: members that just started are slow
	Trials         int           `yaml:"trials,omitempty"` // how often each cell is run, the subjects in turn; 0 is once
	Base           string        `yaml:"base,omitempty"`   // the subject that the others are compared with, trial by trial
	Budget         time.Duration `yaml:"budget,omitempty"` // of trials that repeat a cell, those beyond the first few are not begun after it; 0 is no end
	// Matrix varies any other field, like session_timeout, tick, phases.0.rounds or
	// params.promise, and hold or duration of all phases: every combination of the
	// values is run with every subject and every client count.
	Matrix     map[string][]string `yaml:"matrix,omitempty"`
	Phases     []Phase             `yaml:"phases"`               // what a trial goes through, one after the other
	Specimens  []Specimen          `yaml:"specimens,omitempty"`  // a zoo: what is provoked, in place of a matrix of subjects and clients
	Thresholds []string            `yaml:"thresholds,omitempty"` // conditions on the result, like handoff.latency.p99 < 50ms (zkbench help metrics)
	Limits     Limits              `yaml:"limits,omitempty"`     // on how badly the machine may treat the harness
	Params     map[string]string   `yaml:"params,omitempty"`     // named values for thresholds, like promise: 12s
}

// Kinds of phase.
const (
	// Drain is a number of rounds: all clients join, then the line drains, each
	// acquiring, holding and leaving, without re-entering.
	Drain = "drain"
	// Churn is a closed loop: each client re-enters as soon as it has released.
	Churn = "churn"
	// Succession is a drill: candidates join one after the other and leave in a given
	// order, by resigning, by closing or by losing their sessions.
	Succession = "succession"
	// Flap has one waiter lose its session and come back, while all others stand still.
	Flap = "flap"
	// Stream is an open loop: producers put items when they are due, consumers take them.
	Stream = "stream"
	// Failover is a number of rounds: a holder is in place, others wait, the cause
	// strikes it, and the time to the next grant is taken.
	Failover = "failover"
)

var phaseKinds = []string{Drain, Churn, Succession, Flap, Stream, Provoke, Failover}

// Phase is one part of a trial.
type Phase struct {
	Name     string        `yaml:"name"`               // of the phase in results and plots
	Kind     string        `yaml:"kind"`               // what happens in it
	Rounds   int           `yaml:"rounds,omitempty"`   // drain, succession; flap: how many flaps
	Duration time.Duration `yaml:"duration,omitempty"` // churn, stream
	// Leave says how candidates leave in a succession: LeaveResign and so on.
	Leave string `yaml:"leave,omitempty"`
	// Order is the order in which they leave: client numbers, which is the order in
	// which they joined.
	Order     []int   `yaml:"order,omitempty,flow"`
	Producers int     `yaml:"producers,omitempty"` // stream: clients beside the consumers
	Rate      float64 `yaml:"rate,omitempty"`      // stream: items due a second, over all producers
	Size      int     `yaml:"size,omitempty"`      // stream, and drain and churn of a queue: bytes an item, at least its identity
	// Hold is how long a holder keeps the grant, at least. In a drain it keeps it
	// longer where the wake-ups of the last hand-off are still under way, so that
	// no two releases coalesce.
	Hold   time.Duration `yaml:"hold"`
	Faults []Fault       `yaml:"faults,omitempty,flow"` // what goes wrong in a churn or a stream, and when
	Cause  string        `yaml:"cause,omitempty"`       // failover: what happens to the holder, see Causes
}

// Cell is one cell of the matrix.
type Cell struct {
	Subject recipes.Subject
	Clients int
	Trial   int // 1 based; 0 where the cell is run once
	// Scenario is the scenario as it is in this cell: the matrix's choice is made.
	Scenario *Scenario
	// Choice is the matrix's choice, by key.
	Choice map[string]string
	// In a zoo: what is done to the subject, and which guarantees it must be caught
	// breaking then; none for a sound one.
	Provocation string
	Caught      []string

	suffix string // tells the choice apart in the trial's name
}

// Limits on what a scenario may ask for; a typing error should not occupy a machine
// for a week.
const (
	maxClients  = 5000
	maxDuration = 24 * time.Hour
	maxRounds   = 10_000
	maxTrials   = 1000
	maxCells    = 10_000
)

// Cells returns the matrix, subject by subject inside everything else, so that the
// subjects are compared under the same weather.
func (s *Scenario) Cells() ([]Cell, error) {
	if len(s.Specimens) > 0 {
		return s.zoo()
	}
	combinations, err := s.combinations()
	if err != nil {
		return nil, err
	}
	var cells []Cell
	for _, c := range combinations {
		for _, n := range s.Clients {
			var row []Cell
			for _, name := range s.Subjects {
				subject, err := recipes.Find(name)
				if err != nil {
					return nil, err
				}
				row = append(row, Cell{Subject: subject, Clients: n, Scenario: c.scenario, Choice: c.params, suffix: c.suffix()})
			}
			cells = append(cells, interleave(row, s.Trials)...)
		}
	}
	return cells, nil
}

// Validate returns everything that is wrong with the scenario, as [Mistakes]; each
// names the field, what it has and what it may be.
func (s *Scenario) Validate() error {
	var ms Mistakes
	bad := func(field, format string, args ...any) {
		ms = append(ms, &Mistake{Path: field, Text: fmt.Sprintf(format, args...)})
	}
	if s.Name == "" || strings.ContainsAny(s.Name, "/\\ ") {
		bad("name", "%q must be a word without spaces and slashes", s.Name)
	}
	if len(s.Specimens) > 0 {
		s.validateZoo(bad)
	} else {
		s.validateCells(bad)
	}
	if s.SessionTimeout < 100*time.Millisecond || s.SessionTimeout > maxDuration {
		bad("session_timeout", "%v is not between 100ms and %v", s.SessionTimeout, maxDuration)
	}
	if s.Tick != 0 && (s.Tick < 100*time.Millisecond || s.Tick > time.Minute) {
		bad("tick", "%v is not between 100ms and 1m", s.Tick)
	}
	s.validateTrials(bad)
	if s.Warmup < 0 || s.Warmup > time.Hour {
		bad("warmup", "%v is not between 0 and 1h", s.Warmup)
	}
	if len(s.Phases) == 0 {
		bad("phases", "at least one is needed")
	}
	for i := range s.Phases {
		s.Phases[i].validate(fmt.Sprintf("phases.%d", i), bad)
		s.validateMatch(i, bad)
	}
	s.Limits.validate(bad)
	s.validateMatrix(slices.Clone(ms), bad)
	return ms.err()
}

// validateCells checks the subjects and client counts.
func (s *Scenario) validateCells(bad func(field, format string, args ...any)) {
	if len(s.Subjects) == 0 {
		bad("subjects", "at least one is needed (zkbench list subjects)")
	}
	for i, name := range s.Subjects {
		at := fmt.Sprintf("subjects.%d", i)
		if _, err := recipes.Find(name); err != nil {
			bad(at, "%v%s", err, units.Nearest(name, SubjectNames()))
		} else if slices.Contains(s.Subjects[:i], name) {
			bad(at, "%s stands here twice; to run it more often, set trials", name)
		}
	}
	if len(s.Clients) == 0 {
		bad("clients", "at least one count is needed")
	}
	for i, n := range s.Clients {
		at := fmt.Sprintf("clients.%d", i)
		if n < 1 || n > maxClients {
			bad(at, "%d is not between 1 and %d", n, maxClients)
		} else if slices.Contains(s.Clients[:i], n) {
			bad(at, "%d stands here twice; to run it more often, set trials", n)
		}
	}
}

func (p *Phase) validate(at string, bad func(field, format string, args ...any)) {
	if p.Name == "" {
		bad(at+".name", "is missing")
	}
	if p.Hold < 0 || p.Hold > maxDuration {
		bad(at+".hold", "%v is not between 0 and %v", p.Hold, maxDuration)
	}
	switch p.Kind {
	case Drain:
		if p.Rounds < 1 || p.Rounds > maxRounds {
			bad(at+".rounds", "%d is not between 1 and %d", p.Rounds, maxRounds)
		}
		if p.Duration != 0 {
			bad(at+".duration", "a drain ends when its rounds are done; give rounds")
		}
		if len(p.Faults) > 0 {
			bad(at+".faults", "a drain is counted exactly and has no faults; put them into a churn phase")
		}
	case Churn:
		if p.Duration <= 0 || p.Duration > maxDuration {
			bad(at+".duration", "%v is not between 1ns and %v", p.Duration, maxDuration)
		}
		if p.Rounds != 0 {
			bad(at+".rounds", "a churn runs for a time; give duration")
		}
	case Provoke:
		p.validateProvoke(at, bad)
	case Succession:
		p.validateSuccession(at, bad)
	case Flap:
		p.validateFlap(at, bad)
	case Stream:
		p.validateStream(at, bad)
	case Failover:
		p.validateFailover(at, bad)
	default:
		bad(at+".kind", "%q is not a kind of phase%s", p.Kind, units.Nearest(p.Kind, phaseKinds))
	}
	for j, f := range p.Faults {
		f.validate(fmt.Sprintf("%s.faults.%d", at, j), p.Duration, bad)
	}
}
