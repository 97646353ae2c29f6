package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"zkbench/scenarios"
)

// scenarioFlags are the flags of run that change the scenario.
type scenarioFlags struct {
	flags    *pflag.FlagSet
	subjects []string
	clients  []int
	timeout  time.Duration
	duration time.Duration
	hold     time.Duration
	set      []string
}

func (f *scenarioFlags) register(fl *pflag.FlagSet) {
	f.flags = fl
	fl.StringSliceVar(&f.subjects, "subject", nil, "subjects to run, like lock/parent,lock/predecessor (zkbench list subjects)")
	fl.IntSliceVar(&f.clients, "clients", nil, "client counts, like 10,50,100")
	fl.DurationVar(&f.timeout, "session-timeout", 0, "session timeout to ask for")
	fl.DurationVar(&f.duration, "duration", 0, "duration of every phase that has one; its faults move with it")
	fl.DurationVar(&f.hold, "hold", 0, "how long a holder keeps the grant, in every phase")
	fl.StringArrayVar(&f.set, "set", nil, "any field of the scenario: path=value, like phases.0.rounds=10 (repeatable)")
}

// load reads the scenario, with every flag that was given written over it.
func (f *scenarioFlags) load(name string) (*scenarios.Scenario, error) {
	name, text, err := scenarios.Source(name)
	if err != nil {
		return nil, err
	}
	s, err := scenarios.Load(name, text, f.overrides())
	if err != nil {
		return nil, err
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
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (f *scenarioFlags) overrides() []string {
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
	return append(out, f.set...)
}
