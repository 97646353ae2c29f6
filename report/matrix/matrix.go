// Package matrix groups the trials of a run for comparison: by scenario, and within a scenario
// into series of trials that differ only in their number of clients. Trials with different
// scripts are never in one series.
package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

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

func (s Scenario) Trials() []report.Trial {
	var out []report.Trial
	for _, x := range s.Series {
		out = append(out, x.Trials...)
	}
	return out
}

func (s Scenario) Noun() string {
	for _, t := range s.Trials() {
		if noun := Noun(t); noun != "contender" {
			return noun
		}
	}
	return "contender"
}

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

func (n Names) Label(c history.Cell) string { return label(c.Subject, pick(c, n[c.Scenario])) }

// Merge combines the repetitions of a cell into one trial for display. Each number is the median
// over the trials, never a quantile of all operations, because operations of one trial are not
// independent. Counts are summed; minimum and maximum are over all trials. A guarantee or
// threshold has its worst result. The merged trial has the name of the worst trial, or of the first,
// so that its history and plots can be found. A single trial is returned unchanged. There must be a trial.
func Merge(trials []report.Trial) report.Trial {
	if len(trials) == 1 {
		return trials[0]
	}
	out := slices.MaxFunc(trials, func(a, b report.Trial) int { return bySeverity(a.Outcome(), b.Outcome()) })
	out.Repetition, out.Retries, out.Merged = 0, 0, len(trials)
	out.Metrics = map[string]report.Metric{}
	for _, t := range trials {
		for name := range t.Metrics {
			if _, done := out.Metrics[name]; !done {
				out.Metrics[name] = mergeMetric(trials, name)
			}
		}
	}
	out.Verdicts, out.Thresholds, out.Faults = mergeVerdicts(trials), mergeThresholds(trials), nil
	for _, t := range trials {
		out.Retries += t.Retries
		out.Faults = append(out.Faults, t.Faults...)
	}
	return out
}

func bySeverity(a, b string) int { return cmp.Compare(verdict.Severity(a), verdict.Severity(b)) }

func mergeMetric(trials []report.Trial, name string) report.Metric {
	var all []report.Metric
	for _, t := range trials {
		if m, ok := t.Metrics[name]; ok {
			all = append(all, m)
		}
	}
	middle := func(field string) *float64 {
		var found []float64
		for _, m := range all {
			if m.TooFew(field) {
				return nil
			}
			if v := m.Field(field); v != nil {
				found = append(found, *v)
			}
		}
		if v, ok := stats.Middle(found); ok {
			return &v
		}
		return nil
	}
	out := report.Metric{
		Unit: all[0].Unit, Phase: all[0].Phase, Mean: middle("mean"), P50: middle("p50"), P90: middle("p90"), P99: middle("p99"),
		P999: middle("p999"), Value: middle("value"), Expected: middle("expected"), Servers: middle("servers"),
	}
	for _, m := range all {
		if m.Count != nil {
			out.Count = new(int64(out.Samples()) + *m.Count)
		}
		if m.Min != nil && (out.Min == nil || *m.Min < *out.Min) {
			out.Min = m.Min
		}
		if m.Max != nil && (out.Max == nil || *m.Max > *out.Max) {
			out.Max = m.Max
		}
	}
	return out
}

func mergeVerdicts(trials []report.Trial) []report.Verdict {
	var out []report.Verdict
	for _, t := range trials {
		for _, v := range t.Verdicts {
			v.Reasons = slices.Clone(v.Reasons)
			for i, reason := range v.Reasons {
				v.Reasons[i] = withTrial(t, reason)
			}
			i := slices.IndexFunc(out, func(o report.Verdict) bool { return o.Guarantee == v.Guarantee })
			switch {
			case i < 0:
				out = append(out, v)
			case verdict.Severity(v.Result) > verdict.Severity(out[i].Result):
				v.Reasons = slices.Concat(v.Reasons, out[i].Reasons)
				out[i] = v
			default:
				out[i].Reasons = slices.Concat(out[i].Reasons, v.Reasons)
			}
		}
	}
	return out
}

type trialThreshold struct {
	report.Threshold
	trial report.Trial
}

func mergeThresholds(trials []report.Trial) (out []report.Threshold) {
	var all []trialThreshold
	for _, t := range trials {
		for _, h := range t.Thresholds {
			all = append(all, trialThreshold{h, t})
		}
	}
	for _, same := range Group(all, func(h trialThreshold) string { return h.Expr }) {
		out = append(out, mergeThreshold(same))
	}
	return out
}

const measuredLimit = 5

// mergeThreshold returns the worst result, with the measured values of the trials that have it.
func mergeThreshold(all []trialThreshold) report.Threshold {
	order := func(a, b trialThreshold) int { return bySeverity(a.Result, b.Result) }
	worst := slices.MaxFunc(all, order).Threshold
	var measured []string
	for _, h := range all {
		if h.Result == worst.Result {
			measured = append(measured, cmp.Or(h.Measured, "nothing")+trialSuffix(h.trial))
		}
	}
	if more := len(measured) - measuredLimit; more > 0 {
		measured = append(measured[:measuredLimit], fmt.Sprintf("%d more", more))
	}
	if len(all) > 1 {
		worst.Measured = strings.Join(measured, "; ")
	}
	return worst
}

func trialSuffix(t report.Trial) string {
	if n := t.Repetition; n > 0 {
		return fmt.Sprintf(" in trial %d", n)
	}
	return ""
}

func withTrial(t report.Trial, s string) string {
	if n := t.Repetition; n > 0 {
		return fmt.Sprintf("trial %d: %s", n, s)
	}
	return s
}
