package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/scenarios"
)

type scenarioFlags struct {
	flags  *pflag.FlagSet
	trials int
	ab     []string
	set    []string
	exec   []string
	once   bool
}

func (f *scenarioFlags) register(fl *pflag.FlagSet) {
	f.flags = fl
	fl.StringSlice("subject", nil, "subjects to run, like lock/parent,lock/predecessor (zkbench list subjects)")
	fl.IntSlice("clients", nil, "client counts, like 10,50,100")
	fl.Duration("session-timeout", 0, "session timeout to request")
	fl.Duration("duration", 0, "duration of every phase with a duration; fault times scale with it")
	fl.Duration("hold", 0, "how long a holder keeps the grant, in every phase")
	fl.IntVar(&f.trials, "trials", 0, "number of trials of each cell, subjects interleaved")
	fl.StringSliceVar(&f.ab, "ab", nil, "compare two subjects in one run, trials interleaved A B B A: lock/a,lock/b (10 trials, unless --trials is given)")
	fl.BoolVar(&f.once, "once", false, "smoke test: the least work of each phase with the fewest clients; numbers are not meaningful")
	fl.StringArrayVar(&f.exec, "exec", nil, "command of a driver: 'lock/mine=python3 driver.py' (repeatable; zkbench help drivers)")
	fl.StringArrayVar(&f.set, "set", nil, "set a field of the scenario: path=value, for example phases.0.rounds=10 (repeatable)")
}

// load loads the scenario with the overrides of all flags.
func (f *scenarioFlags) load(name string) (*scenarios.Scenario, error) {
	name, text, err := scenarios.Source(name)
	if err != nil {
		return nil, err
	}
	overrides, err := f.overrides()
	if err != nil {
		return nil, err
	}
	s, err := scenarios.Load(name, text, overrides...)
	if err == nil && f.once {
		err = s.Once()
	}
	return s, err
}

// abTrials is the default number of trials per subject with --ab: enough for a confidence interval
// that one outlier at either end does not move.
const abTrials = 10

func (f *scenarioFlags) overrides() ([]string, error) {
	for _, flag := range []string{"subject", "ab"} {
		for i, name := range f.list(flag) {
			if strings.TrimSpace(name) == "" {
				return nil, fmt.Errorf("--%s: empty name at position %d", flag, i+1)
			}
		}
	}
	if f.once && (f.trials > 1 || f.flags.Changed("ab")) {
		return nil, fmt.Errorf("--once runs one trial of each subject: leave --trials and --ab out")
	}
	var out []string
	programs := map[string]bool{}
	for _, program := range f.exec {
		name, _, _ := strings.Cut(program, "=")
		if programs[name] {
			return nil, fmt.Errorf("--exec: %s has two programs: give one of them another name", name)
		}
		programs[name] = true
		out = append(out, "exec="+program)
	}
	for _, set := range [][2]string{
		{"subject", "subjects"}, {"clients", "clients"}, {"session-timeout", "session_timeout"},
		{"tick", "tick"}, {"hold", "hold"}, {"duration", "duration"},
	} {
		if flag := f.flags.Lookup(set[0]); flag.Changed {
			out = append(out, set[1]+"="+flag.Value.String()) // lists are in brackets, as in YAML
		}
	}
	for _, set := range versionFlags {
		if f.flags.Changed(set.flag) {
			if len(f.list(set.flag)) == 0 {
				return nil, fmt.Errorf("--%s names nothing: leave it out for the default", set.flag)
			}
			out = append(out, set.field+"=["+strings.Join(quoted(f.list(set.flag)), ", ")+"]")
		}
	}
	repeated, err := f.repeated()
	if err != nil {
		return nil, err
	}
	return append(append(out, repeated...), f.set...), nil
}

// versionFlags are the flags for versions of ZooKeeper, and the fields that they set.
var versionFlags = []struct{ flag, field string }{{"image", "images"}, {"zookeeper-home", "homes"}}

func (f *scenarioFlags) list(flag string) []string {
	values, _ := f.flags.GetStringSlice(flag) // the flag is of that type
	return values
}

// quoted returns texts as YAML strings.
func quoted(texts []string) (out []string) {
	for _, t := range texts {
		out = append(out, strconv.Quote(t))
	}
	return out
}

// kindOf returns the recipe in the name of a subject.
func kindOf(subject string) string {
	kind, _, _ := strings.Cut(subject, "/")
	return kind
}

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
	case kindOf(f.ab[0]) != kindOf(f.ab[1]):
		return nil, fmt.Errorf("--ab %s: want two subjects of one kind (lock, election or queue)", strings.Join(f.ab, ","))
	case trials == 1:
		return nil, fmt.Errorf("--trials 1 with --ab: one trial of each cannot show a difference; remove --trials, or use 10 or more")
	case trials == 0:
		trials = abTrials
	}
	return []string{"subjects=[" + strings.Join(f.ab, ", ") + "]", "base=" + f.ab[0], "trials=" + strconv.Itoa(trials)}, nil
}
