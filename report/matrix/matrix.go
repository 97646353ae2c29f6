// Package matrix groups the trials of a run for comparison: by scenario, and within a scenario
// into series of trials that differ only in their number of clients. Trials with different
// provocations are never in one series.
package matrix

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Scenario contains all trials of one scenario.
type Scenario struct {
	Name   string
	Series []Series // ordered by label
	Counts []int    // every client count that was run, ascending
}

// Noun returns the noun for the clients of a trial: "session" if most of them only connect, else
// "contender".
func Noun(t report.Trial) string {
	if t.Metrics[metrics.ConnectAll].Value != nil {
		return "session"
	}
	return "contender"
}

// Noun returns the noun for the clients of the scenario.
func (s Scenario) Noun() string {
	for _, x := range s.Series {
		for _, t := range x.Trials {
			if noun := Noun(t); noun != "contender" {
				return noun
			}
		}
	}
	return "contender"
}

// Count is a number of clients, and the noun for them.
type Count struct {
	N    int
	Noun string
}

// String returns the count with its noun: "50 contenders".
func (c Count) String() string { return units.Plural(c.N, c.Noun) }

// Count returns a number of clients with the scenario's noun.
func (s Scenario) Count(n int) Count { return Count{n, s.Noun()} }

// Series contains the trials that share a subject, parameters and provocation, ordered by number
// of clients.
type Series struct {
	Label   string // the subject, and the parameters that distinguish it within the scenario
	Subject string
	Varying []Param // the parameters in Label
	Trials  []report.Trial
}

// paramVersion is the parameter with the version of ZooKeeper, in runs with several versions. It
// is part of every label, even if there is only one trial, as in an upgrade.
const paramVersion = "version"

// paramProvocation is the name in labels of a trial's provocation. A provocation is always part of the
// label, like a parameter that varies.
const paramProvocation = "provocation"

// paramCell is the name of an audit's cell in labels.
const paramCell = "cell"

// Param is a parameter of a trial.
type Param struct{ Name, Value string }

var ignoredParams = []string{"clients", "subject", "seed", "repeat"}

// Of groups trials by scenario, in the order in which the scenarios were run.
func Of(trials []report.Trial) []Scenario {
	var out []Scenario
	for _, t := range trials {
		if !slices.ContainsFunc(out, func(s Scenario) bool { return s.Name == t.Scenario }) {
			out = append(out, scenario(t.Scenario, trials))
		}
	}
	return out
}

func scenario(name string, trials []report.Trial) Scenario {
	mine := slices.DeleteFunc(slices.Clone(trials), func(t report.Trial) bool { return t.Scenario != name })
	keys := varying(mine)
	s := Scenario{Name: name}
	for _, t := range mine {
		params := pick(t.Cell, keys)
		name := label(t.Subject, params)
		i := slices.IndexFunc(s.Series, func(x Series) bool { return x.Label == name })
		if i < 0 {
			s.Series = append(s.Series, Series{Label: name, Subject: t.Subject, Varying: params})
			i = len(s.Series) - 1
		}
		s.Series[i].Trials = append(s.Series[i].Trials, t)
		if !slices.Contains(s.Counts, t.Clients) {
			s.Counts = append(s.Counts, t.Clients)
		}
	}
	slices.Sort(s.Counts)
	slices.SortStableFunc(s.Series, func(a, b Series) int { return strings.Compare(a.Label, b.Label) })
	for _, x := range s.Series {
		slices.SortStableFunc(x.Trials, func(a, b report.Trial) int {
			return cmp.Or(cmp.Compare(a.Clients, b.Clients), cmp.Compare(a.Repetition, b.Repetition))
		})
	}
	return s
}

func label(subject string, params []Param) string {
	s := units.Clean(subject)
	for _, p := range params {
		if p.Name == paramCell {
			s += ", cell " + units.Clean(p.Value) // the value contains spaces
			continue
		}
		s += " " + units.Clean(p.Name+"="+p.Value)
	}
	return s
}

// At returns the trials of the series with the given number of clients.
func (s Series) At(clients int) []report.Trial {
	return slices.DeleteFunc(slices.Clone(s.Trials), func(t report.Trial) bool { return t.Clients != clients })
}

// Common returns the largest number of clients that every series has. If there is none, it returns the
// largest number of clients, or 0 for a scenario without trials.
func (s Scenario) Common() int {
	for _, n := range slices.Backward(s.Counts) {
		if !slices.ContainsFunc(s.Series, func(x Series) bool { return len(x.At(n)) == 0 }) {
			return n
		}
	}
	if len(s.Counts) == 0 {
		return 0
	}
	return s.Counts[len(s.Counts)-1]
}

func varying(trials []report.Trial) []string {
	var keys []string
	for _, t := range trials {
		for k := range t.Params {
			if !slices.Contains(keys, k) && !slices.Contains(ignoredParams, k) {
				keys = append(keys, k)
			}
		}
	}
	keys = slices.DeleteFunc(keys, func(k string) bool {
		return k != paramVersion && !slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Params[k] != trials[0].Params[k] })
	})
	slices.Sort(keys)
	return keys
}

// pick returns the parameters that distinguish a cell: its values of the keys, and its provocation.
func pick(c history.Cell, keys []string) []Param {
	var out []Param
	for _, k := range keys {
		if v, ok := c.Params[k]; ok {
			out = append(out, Param{k, v})
		}
	}
	if c.Step != "" {
		return append(out, Param{paramCell, c.Provocation})
	}
	if c.Provocation != "" {
		out = append(out, Param{paramProvocation, c.Provocation})
	}
	return out
}

// Median returns the median of read over the trials: the lower of two middle values, so that it
// is always a measured value. It returns false if no trial has the value.
func Median(trials []report.Trial, read func(report.Trial) *float64) (float64, bool) {
	var found []float64
	for _, t := range trials {
		if v := read(t); v != nil {
			found = append(found, *v)
		}
	}
	return stats.Middle(found)
}

// Cells returns one trial for each number of clients of the series. Repetitions are merged (see
// [Merge]).
func (s Series) Cells() []report.Trial {
	var out []report.Trial
	for i := 0; i < len(s.Trials); {
		at := s.At(s.Trials[i].Clients)
		out = append(out, Merge(at))
		i += len(at)
	}
	return out
}

// Merged returns the scenario with one trial per cell (see [Merge]).
func (s Scenario) Merged() Scenario {
	s.Series = slices.Clone(s.Series)
	for i, x := range s.Series {
		s.Series[i].Trials = x.Cells()
	}
	return s
}

// Names provides the labels of a run's cells, which are the labels of their series. It contains
// the parameters that vary, by scenario.
type Names map[string][]string

// NamesOf returns the names for the trials of a run. It needs all trials to find the parameters
// that vary.
func NamesOf(trials []report.Trial) Names {
	byScenario := map[string][]report.Trial{}
	for _, t := range trials {
		byScenario[t.Scenario] = append(byScenario[t.Scenario], t)
	}
	n := Names{}
	for name, mine := range byScenario {
		n[name] = varying(mine)
	}
	return n
}

// Label returns the label of the cell's series.
func (n Names) Label(c history.Cell) string { return label(c.Subject, pick(c, n[c.Scenario])) }
