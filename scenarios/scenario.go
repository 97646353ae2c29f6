// Package scenarios says what is measured, and drives it: a [Scenario] is read from
// YAML (some are built in), spans a matrix of trials, and each trial sends clients
// of one subject through phases while faults strike. What happened goes into a
// history; what it means is concluded by package report, afterwards.
package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"zkbench/chaos"
	"zkbench/recipes"
)

// Scenario is what a run measures: a matrix of subjects and client counts, the
// phases that each trial goes through, and the conditions on the result.
type Scenario struct {
	Name           string            `yaml:"name"`
	About          string            `yaml:"about,omitempty"`
	Subjects       []string          `yaml:"subjects,flow"`
	Clients        []int             `yaml:"clients,flow"`
	SessionTimeout time.Duration     `yaml:"session_timeout"`
	Warmup         time.Duration     `yaml:"warmup,omitempty"` // load before the first trial, unrecorded: members that just started are slow
	Trials         int               `yaml:"trials,omitempty"` // how often each cell is run, the subjects in turn; 0 is once
	Base           string            `yaml:"base,omitempty"`   // the subject that the others are compared with, trial by trial
	Phases         []Phase           `yaml:"phases"`
	Thresholds     []string          `yaml:"thresholds,omitempty"`
	Params         map[string]string `yaml:"params,omitempty"` // named values for thresholds, like promise: 12s
}

// Kinds of phase.
const (
	// Drain is a number of rounds: all clients join, then the line drains, each
	// acquiring, holding and leaving, without re-entering.
	Drain = "drain"
	// Churn is a closed loop: each client re-enters as soon as it has released.
	Churn = "churn"
)

// Phase is one part of a trial.
type Phase struct {
	Name     string        `yaml:"name"`
	Kind     string        `yaml:"kind"`
	Rounds   int           `yaml:"rounds,omitempty"`   // drain
	Duration time.Duration `yaml:"duration,omitempty"` // churn
	// Hold is how long a holder keeps the grant, at least. In a drain it keeps it
	// longer where the wake-ups of the last hand-off are still under way, so that
	// no two releases coalesce.
	Hold   time.Duration `yaml:"hold"`
	Faults []Fault       `yaml:"faults,omitempty,flow"`
}

// Fault is one entry of a phase's fault plan.
type Fault struct {
	At     time.Duration     `yaml:"at"`    // after the start of the phase
	Fault  string            `yaml:"fault"` // a name from zkbench list faults
	Target string            `yaml:"target,omitempty"`
	For    time.Duration     `yaml:"for,omitempty"` // until it is healed
	Params map[string]string `yaml:"params,omitempty"`
}

// Cell is one cell of the matrix.
type Cell struct {
	Subject recipes.Subject
	Clients int
	Trial   int // 1 based; 0 where the cell is run once
}

// Limits on what a scenario may ask for; a typing error should not occupy a machine
// for a week.
const (
	maxClients  = 5000
	maxDuration = 24 * time.Hour
	maxRounds   = 10_000
	maxTrials   = 1000
)

// Cells returns the matrix, subject by subject inside each client count, so that
// the subjects are compared under the same weather.
func (s *Scenario) Cells() ([]Cell, error) {
	var cells []Cell
	for _, n := range s.Clients {
		var row []Cell
		for _, name := range s.Subjects {
			subject, err := recipes.Find(name)
			if err != nil {
				return nil, err
			}
			row = append(row, Cell{Subject: subject, Clients: n})
		}
		cells = append(cells, interleave(row, s.Trials)...)
	}
	return cells, nil
}

// Validate returns everything that is wrong with the scenario, joined; each error
// names the field, what it has and what it may be.
func (s *Scenario) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if s.Name == "" || strings.ContainsAny(s.Name, "/\\ ") {
		bad("name", "%q must be a word without spaces and slashes", s.Name)
	}
	if len(s.Subjects) == 0 {
		bad("subjects", "at least one is needed (zkbench list subjects)")
	}
	for _, name := range s.Subjects {
		if _, err := recipes.Find(name); err != nil {
			bad("subjects", "%v%s", err, Nearest(name, SubjectNames()))
		}
	}
	if len(s.Clients) == 0 {
		bad("clients", "at least one count is needed")
	}
	for _, n := range s.Clients {
		if n < 1 || n > maxClients {
			bad("clients", "%d is not between 1 and %d", n, maxClients)
		}
	}
	if s.SessionTimeout < 100*time.Millisecond || s.SessionTimeout > maxDuration {
		bad("session_timeout", "%v is not between 100ms and %v", s.SessionTimeout, maxDuration)
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
	}
	return errors.Join(errs...)
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
	default:
		bad(at+".kind", "%q is not a kind of phase%s", p.Kind, Nearest(p.Kind, []string{Drain, Churn}))
	}
	for j, f := range p.Faults {
		f.validate(fmt.Sprintf("%s.faults.%d", at, j), p.Duration, bad)
	}
}

func (f Fault) validate(at string, phase time.Duration, bad func(field, format string, args ...any)) {
	if _, err := chaos.Parse(f.Fault, f.Target, f.Params); err != nil {
		bad(at, "%v", err)
	}
	if f.At < 0 || f.At > phase {
		bad(at+".at", "%v is not within the phase (0 to %v)", f.At, phase)
	}
	if f.For < 0 || f.At+f.For > phase {
		bad(at+".for", "%v after %v is not within the phase (0 to %v): the fault must be healed before it ends", f.For, f.At, phase)
	}
}

// Stretch gives the phase another duration; its faults keep their place in it.
func (p *Phase) Stretch(d time.Duration) {
	scale := func(x time.Duration) time.Duration {
		return time.Duration(float64(x) * float64(d) / float64(p.Duration)).Truncate(time.Millisecond)
	}
	for i := range p.Faults {
		p.Faults[i].At, p.Faults[i].For = scale(p.Faults[i].At), scale(p.Faults[i].For)
	}
	p.Duration = d
}
