// Package matrix groups the trials of a run for comparison: by scenario, and within a scenario
// into series of trials that differ only in their number of clients. Trials with different
// scripts are never in one series.
package matrix

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Scenario contains all trials of one scenario.
type Scenario struct {
	Name   string
	Series []Series // ordered by label
	Counts []int    // every client count that was run, ascending
}

// Noun returns the noun for the clients of a trial: "session" if most only connect, else "contender".
func Noun(t report.Trial) string {
	if t.Metrics[metrics.ConnectAll].Value != nil {
		return "session"
	}
	return "contender"
}

// Trials returns the trials of all series.
func (s Scenario) Trials() []report.Trial {
	var out []report.Trial
	for _, x := range s.Series {
		out = append(out, x.Trials...)
	}
	return out
}

// Noun returns the noun for the clients of the scenario.
func (s Scenario) Noun() string {
	for _, t := range s.Trials() {
		if noun := Noun(t); noun != "contender" {
			return noun
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

// Series contains the trials with one subject, parameters and script, ordered by number of clients.
type Series struct {
	Label   string // the subject, and the parameters that distinguish it within the scenario
	Subject string
	Varying []Param // the parameters in Label
	Trials  []report.Trial
}

// Names in labels that do not depend on what varies.
const (
	paramVersion = "version" // of ZooKeeper; in every label, even of a single trial, as in an upgrade
	paramScript  = "script"  // of a trial that has one
	paramCell    = "cell"    // of an audit
)

// Param is a parameter of a trial.
type Param struct{ Name, Value string }

var ignoredParams = []string{"clients", "subject", "seed", "repeat"}

// Group groups values by key, in the order in which the keys first occur.
func Group[T any, K comparable](all []T, key func(T) K) [][]T {
	var out [][]T
	at := map[K]int{} // index in out
	for _, x := range all {
		i, seen := at[key(x)]
		if !seen {
			i, out = len(out), append(out, nil)
			at[key(x)] = i
		}
		out[i] = append(out[i], x)
	}
	return out
}

// Distinct returns the distinct results of a function, in the order in which they first occur.
func Distinct[T any, K comparable](all []T, of func(T) K) (out []K) {
	for _, same := range Group(all, of) {
		out = append(out, of(same[0]))
	}
	return out
}

func clients(t report.Trial) int { return t.Clients }

// byScenario groups trials by scenario, in the order in which the scenarios were run.
func byScenario(trials []report.Trial) [][]report.Trial {
	return Group(trials, func(t report.Trial) string { return t.Scenario })
}

// GroupScenarios groups trials by scenario, in the order in which the scenarios were run.
func GroupScenarios(trials []report.Trial) []Scenario {
	var out []Scenario
	for _, mine := range byScenario(trials) {
		out = append(out, scenario(mine))
	}
	return out
}

func scenario(trials []report.Trial) Scenario {
	keys := varying(trials)
	s := Scenario{Name: trials[0].Scenario, Counts: Distinct(trials, clients)}
	labelOf := func(t report.Trial) string { return label(t.Subject, pick(t.Cell, keys)) }
	for _, mine := range Group(trials, labelOf) {
		slices.SortStableFunc(mine, func(a, b report.Trial) int {
			return cmp.Or(cmp.Compare(a.Clients, b.Clients), cmp.Compare(a.Repetition, b.Repetition))
		})
		first := mine[0]
		s.Series = append(s.Series, Series{labelOf(first), first.Subject, pick(first.Cell, keys), mine})
	}
	slices.Sort(s.Counts)
	slices.SortStableFunc(s.Series, func(a, b Series) int { return strings.Compare(a.Label, b.Label) })
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
	return slices.Max(append([]int{0}, s.Counts...))
}

// varying returns the names of the parameters that differ between the trials.
func varying(trials []report.Trial) []string {
	all := map[string]string{}
	for _, t := range trials {
		maps.Copy(all, t.Params)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(k string) bool {
		differs := func(t report.Trial) bool { return t.Params[k] != trials[0].Params[k] }
		return slices.Contains(ignoredParams, k) || k != paramVersion && !slices.ContainsFunc(trials, differs)
	})
}

// pick returns the parameters that distinguish a cell: its values of the keys, and its script.
func pick(c history.Cell, keys []string) []Param {
	var out []Param
	for _, k := range keys {
		if v, ok := c.Params[k]; ok {
			out = append(out, Param{k, v})
		}
	}
	if c.Step != "" {
		return append(out, Param{paramCell, c.Script})
	}
	if c.Script != "" {
		out = append(out, Param{paramScript, c.Script})
	}
	return out
}

// Merged returns the scenario with one trial per cell (see [Merge]).
func (s Scenario) Merged() Scenario {
	s.Series = slices.Clone(s.Series)
	for i, x := range s.Series {
		s.Series[i].Trials = nil
		for _, same := range Group(x.Trials, clients) {
			s.Series[i].Trials = append(s.Series[i].Trials, Merge(same))
		}
	}
	return s
}

// Names provides the labels of a run's cells. It contains the parameters that vary, by scenario.
type Names map[string][]string

// NamesOf returns the names for a run. It needs all trials to find the parameters that vary.
func NamesOf(trials []report.Trial) Names {
	n := Names{}
	for _, mine := range byScenario(trials) {
		n[mine[0].Scenario] = varying(mine)
	}
	return n
}

// Label returns the label of the cell's series.
func (n Names) Label(c history.Cell) string { return label(c.Subject, pick(c, n[c.Scenario])) }
