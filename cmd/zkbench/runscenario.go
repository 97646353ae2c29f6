package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
)

// scenarioFlags are the flags of run that change the scenario.
type scenarioFlags struct {
	flags    *pflag.FlagSet
	subjects []string
	clients  []int
	timeout  time.Duration
	duration time.Duration
	hold     time.Duration
	trials   int
	ab       []string
	set      []string
}

func (f *scenarioFlags) register(fl *pflag.FlagSet) {
	f.flags = fl
	fl.StringSliceVar(&f.subjects, "subject", nil, "subjects to run, like lock/parent,lock/predecessor (zkbench list subjects)")
	fl.IntSliceVar(&f.clients, "clients", nil, "client counts, like 10,50,100")
	fl.DurationVar(&f.timeout, "session-timeout", 0, "session timeout to ask for")
	fl.DurationVar(&f.duration, "duration", 0, "duration of every phase that has one; its faults move with it")
	fl.DurationVar(&f.hold, "hold", 0, "how long a holder keeps the grant, in every phase")
	fl.IntVar(&f.trials, "trials", 0, "run every cell that many times, the subjects in turn")
	fl.StringSliceVar(&f.ab, "ab", nil, "compare two subjects in one run, trials interleaved A B B A: lock/a,lock/b (10 trials, unless --trials says otherwise)")
	fl.StringArrayVar(&f.set, "set", nil, "any field of the scenario: path=value, like phases.0.rounds=10 (repeatable)")
}

// load reads the scenario, with every flag that was given written over it.
func (f *scenarioFlags) load(name string) (*scenarios.Scenario, error) {
	name, text, err := scenarios.Source(name)
	if err != nil {
		return nil, err
	}
	overrides, err := f.overrides()
	if err != nil {
		return nil, err
	}
	s, err := scenarios.Load(name, text, overrides, thresholds)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"hold", "duration"} {
		if f.flags.Changed(name) {
			delete(s.Matrix, name)
		}
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		if f.flags.Changed("hold") {
			p.Hold = f.hold
		}
		if f.flags.Changed("duration") && p.Duration > 0 {
			p.Stretch(f.duration)
		}
	}
	var mistakes scenarios.Mistakes
	if errors.As(s.Validate(), &mistakes) { // what the flags have made of it
		return nil, mistakes.In(name)
	}
	return s, nil
}

// thresholds parses the scenario's thresholds: one that is misspelt, or that the
// scenario can never answer, should not be found after an hour of measuring.
func thresholds(s *scenarios.Scenario) scenarios.Mistakes {
	var ms scenarios.Mistakes
	for i, expr := range s.Thresholds {
		c, err := report.ParseThreshold(expr)
		if err == nil {
			err = answerable(s, c)
		}
		if err != nil {
			ms = append(ms, &scenarios.Mistake{Path: fmt.Sprintf("thresholds.%d", i), Text: err.Error()})
		}
	}
	return ms
}

// answerable says what the scenario lacks for the condition.
func answerable(s *scenarios.Scenario, c report.Condition) error {
	var phases []string
	for _, p := range s.Phases {
		phases = append(phases, p.Name)
	}
	parameter, phase := c.Parameter(), c.Phase()
	switch {
	case parameter != "" && !slices.Contains(s.Parameters(), parameter):
		return fmt.Errorf("threshold %q: the scenario has no parameter %q%s", c.Expr, parameter, units.Nearest(parameter, s.Parameters()))
	case phase != "" && !slices.Contains(phases, phase):
		return fmt.Errorf("threshold %q: the scenario has no phase %q%s", c.Expr, phase, units.Nearest(phase, phases))
	case c.TakesBase() && s.Base == "":
		return fmt.Errorf("threshold %q: the scenario names no base; say which subject is, like base: %s", c.Expr, strings.Join(s.Subjects[:min(1, len(s.Subjects))], ""))
	}
	return nil
}

// abTrials is how many trials of each subject --ab runs where nobody says: enough
// for a confidence interval that one bad trial at either end does not move.
const abTrials = 10

func (f *scenarioFlags) overrides() ([]string, error) {
	var out []string
	if f.flags.Changed("subject") {
		out = append(out, "subjects=["+strings.Join(f.subjects, ", ")+"]")
	}
	if f.flags.Changed("clients") {
		counts := make([]string, len(f.clients))
		for i, n := range f.clients {
			counts[i] = strconv.Itoa(n)
		}
		out = append(out, "clients=["+strings.Join(counts, ", ")+"]")
	}
	if f.flags.Changed("session-timeout") {
		out = append(out, "session_timeout="+f.timeout.String())
	}
	if f.flags.Changed("tick") {
		out = append(out, "tick="+f.flags.Lookup("tick").Value.String())
	}
	repeated, err := f.repeated()
	if err != nil {
		return nil, err
	}
	return append(append(out, repeated...), f.set...), nil
}

// repeated is what --trials and --ab set.
func (f *scenarioFlags) repeated() ([]string, error) {
	trials := f.trials
	if f.flags.Changed("trials") && trials < 1 {
		return nil, fmt.Errorf("--trials %d: at least 1 is needed", trials)
	}
	if !f.flags.Changed("ab") {
		if trials == 0 {
			return nil, nil
		}
		return []string{"trials=" + strconv.Itoa(trials)}, nil
	}
	switch {
	case f.flags.Changed("subject"):
		return nil, fmt.Errorf("--ab names the subjects: leave --subject out")
	case len(f.ab) != 2 || f.ab[0] == f.ab[1]:
		return nil, fmt.Errorf("--ab %s: want two different subjects, like lock/predecessor,lock/parent", strings.Join(f.ab, ","))
	case trials == 1:
		return nil, fmt.Errorf("--trials 1 with --ab: one trial of each says nothing about their difference; leave it out, or give 10 or more")
	case trials == 0:
		trials = abTrials
	}
	return []string{"subjects=[" + strings.Join(f.ab, ", ") + "]", "base=" + f.ab[0], "trials=" + strconv.Itoa(trials)}, nil
}
