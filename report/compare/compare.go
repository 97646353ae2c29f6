// Package compare says whether one run is worse than another, and refuses to guess.
//
// Counts (notifications and requests a hand-off) hardly vary and are held to each
// other exactly. Latencies and throughput vary: one value a trial goes into the
// comparison, never one an operation, because operations of one trial share its
// weather. Where the trials are too few or too noisy to tell, the answer is unknown,
// with the number of trials that would probably tell.
package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zkbench/report"
	"zkbench/report/history"
	"zkbench/report/matrix"
)

// The results of a row. The result of a whole comparison is report.Pass (not
// worse), report.Fail (worse) or report.Unknown.
const (
	Worse   = "worse"
	Better  = "better"
	Same    = "not worse"
	Unknown = report.Unknown
)

// Schema is the version of a comparison written as JSON.
const Schema = "zkbench.comparison/v1"

// Options say how much worse is too much.
type Options struct {
	MaxRegression float64          // as a fraction: 0.05 lets a latency grow by 5 %
	Measures      []report.Measure // whose rows decide, beside counts and guarantees; nil is Deciding
}

// Deciding are the measures that decide where nobody says. Others are shown.
var Deciding = []report.Measure{
	{Metric: report.HandoffLatency, Field: "p50"}, {Metric: report.QueueLatency, Field: "p50"}, {Metric: report.Throughput, Field: "value"},
}

// shown are the measures that have rows.
var shown = []report.Measure{
	{Metric: report.HandoffLatency, Field: "p50"}, {Metric: report.HandoffLatency, Field: "p99"},
	{Metric: report.FailoverLatency, Field: "p50"}, {Metric: report.LeaderlessTime, Field: "p50"},
	{Metric: report.QueueLatency, Field: "p50"}, {Metric: report.QueueLatency, Field: "p99"},
	{Metric: report.AcquireLatency, Field: "p50"}, {Metric: report.Throughput, Field: "value"},
}

// counts are compared exactly; bytes with a slack, because keep-alives are in them.
var counts = []struct {
	metric string
	slack  float64
}{{report.FanoutNotifications, 0}, {report.FanoutRequests, 0}, {report.FanoutBytes, 0.01}}

// Side is one run's values of a row.
type Side struct {
	report.Interval
	N int `json:"n"` // trials
}

// Row compares one number of one cell.
type Row struct {
	Cell    string           `json:"cell"` // "herd, lock/parent, 50 clients"
	What    string           `json:"what"` // "handoff.latency.p50", "fanout.notifications", "verdict fifo"
	Unit    string           `json:"unit,omitempty"`
	Old     Side             `json:"old"`
	New     Side             `json:"new"`
	Ratio   *report.Interval `json:"ratio,omitempty"` // new over old; nil where it is no number, or old is 0
	P       *float64         `json:"p,omitempty"`     // of the two being alike, by the Mann-Whitney U test
	Noise   *float64         `json:"noise,omitempty"` // old's odd trials over its even ones, by their medians
	Decides bool             `json:"decides"`
	Result  string           `json:"result"`
	Why     string           `json:"why,omitempty"`  // where the result is unknown, or is no matter of numbers
	More    int              `json:"more,omitempty"` // trials of each that would probably decide it
}

// Comparison is what setting two runs side by side came to.
type Comparison struct {
	Schema string     `json:"schema"`
	Old    report.Run `json:"old"`
	New    report.Run `json:"new"`
	Unlike []string   `json:"unlike,omitempty"` // why they should not be compared; empty unless it was forced
	Notes  []string   `json:"notes,omitempty"`  // what differs and may
	Rows   []Row      `json:"rows"`
	Limit  float64    `json:"limit"` // the largest regression that is let pass
	Result string     `json:"result"`
}

// Runs compares two runs that are alike (see [Unlike]). Cells that only one of them has
// are noted, and not compared. What decides and is no longer measured in a cell that
// both have is unknown: a gate must not pass because nobody looked.
func Runs(old, new report.Result, o Options) Comparison {
	if o.Measures == nil {
		o.Measures = Deciding
	}
	c := Comparison{Schema: Schema, Old: old.Run, New: new.Run, Limit: o.MaxRegression, Notes: notes(old.Run, new.Run)}
	for _, r := range []report.Run{old.Run, new.Run} {
		if r.Ended != "" {
			c.Rows = append(c.Rows, Row{Cell: "run " + r.ID, What: "completed", Decides: true, Result: Unknown, Why: "it ended early: " + r.Ended})
		}
	}
	olds, news := cells(old.Trials), cells(new.Trials)
	c.Notes = append(c.Notes, lonely("before", olds, news)...)
	c.Notes = append(c.Notes, lonely("now", news, olds)...)
	for _, key := range slices.Sorted(maps.Keys(olds)) {
		if b, both := news[key]; both {
			c.Rows = append(c.Rows, c.cell(olds[key], b, o)...)
		}
	}
	c.judge()
	return c
}

// cell is the trials of one cell of a matrix, with those of the base beside them.
type cell struct {
	name   string
	trials []report.Trial
	bases  map[int]report.Trial // by repetition; nil without a base
	base   string
}

// cells sorts trials into cells. Runs whose params differ have no cell in common,
// unless they have the same matrix: then the params that do not vary do not tell
// cells apart.
func cells(trials []report.Trial) map[string]cell {
	out := map[string]cell{}
	for _, s := range matrix.Of(trials) {
		for _, x := range s.Series {
			for _, n := range s.Counts {
				at := x.At(n)
				if len(at) == 0 {
					continue
				}
				name := fmt.Sprintf("%s, %s, %s", s.Name, x.Label, clients(n))
				k := fmt.Sprintf("%s\x00%06d\x00%s", s.Name, n, x.Label)
				out[k] = cell{name: name, trials: at, bases: neighbours(trials, at[0]), base: at[0].Params[history.ParamBase]}
			}
		}
	}
	return out
}

// lonely lists the cells that only one run has.
func lonely(when string, has, lacks map[string]cell) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(has)) {
		if _, both := lacks[key]; !both {
			out = append(out, "only "+when+", and not compared: "+has[key].name)
		}
	}
	return out
}

func clients(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

// neighbours returns the trials of the base in the same cell, by repetition.
func neighbours(trials []report.Trial, t report.Trial) map[int]report.Trial {
	base := t.Params[history.ParamBase]
	if base == "" || base == t.Subject {
		return nil
	}
	out := map[int]report.Trial{}
	for _, x := range trials {
		if x.Subject == base && x.Scenario == t.Scenario && x.Clients == t.Clients && maps.Equal(x.CellParams(), t.CellParams()) {
			out[x.Repetition()] = x
		}
	}
	return out
}

// cell compares one cell.
func (c *Comparison) cell(old, new cell, o Options) []Row {
	var rows []Row
	add := func(r Row, ok bool) {
		if ok {
			r.Cell = new.name
			rows = append(rows, r)
		}
	}
	for _, g := range guarantees(old.trials, new.trials) {
		add(g, true)
	}
	for _, k := range counts {
		add(count(old.trials, new.trials, k.metric, k.slack))
	}
	relative := old.base != "" && old.base == new.base
	for _, m := range slices.Concat(shown, o.Measures) {
		decides := slices.Contains(o.Measures, m)
		if slices.ContainsFunc(rows, func(r Row) bool { return r.What == m.String() }) {
			continue
		}
		if relative && len(old.bases) > 0 && len(new.bases) > 0 {
			r, ok := statistic(m, old.ratios(m), new.ratios(m))
			r.What, r.Unit, r.Decides = m.String()+" over "+new.base, "1", decides
			add(r, ok)
			decides = decides && !ok
		}
		decides = decides && !(relative && old.trials[0].Subject == old.base)
		if r, ok := incomparable(old.trials, new.trials, m); ok {
			r.Decides = decides
			add(r, true)
			continue
		}
		r, ok := statistic(m, values(old.trials, m), values(new.trials, m))
		r.Unit, r.Decides = unit(new.trials, m), decides
		add(r, ok)
	}
	return rows
}

// values reads a measure of each trial that has it.
func values(trials []report.Trial, m report.Measure) []float64 {
	var out []float64
	for _, t := range trials {
		if v := value(t, m); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// value reads a measure. Below 100 samples the 99th percentile is only another name
// for the largest.
func value(t report.Trial, m report.Measure) *float64 {
	if n := t.Metrics[m.Metric].Count; m.Field == "p99" && (n == nil || *n < 100) {
		return nil
	}
	return m.Of(t)
}

// ratios reads a measure of each trial over its neighbour's of the base: the speed
// of the machine falls out of it.
func (c cell) ratios(m report.Measure) []float64 {
	var out []float64
	for _, t := range c.trials {
		a, b := value(c.bases[t.Repetition()], m), value(t, m)
		if a != nil && b != nil && *a > 0 {
			out = append(out, *b / *a)
		}
	}
	return out
}

// incomparable is the row of a measure that two runs have in different units, or that
// one has no longer.
func incomparable(old, new []report.Trial, m report.Measure) (Row, bool) {
	a, b := values(old, m), values(new, m)
	r := Row{What: m.String(), Result: Unknown, Old: Side{N: len(a)}, New: Side{N: len(b)}}
	switch was, is := unitsOf(old, m), unitsOf(new, m); {
	case len(a) > 0 && len(b) == 0:
		r.Why = "it was measured before, and is not now"
	case len(a) > 0 && !(len(was) == 1 && slices.Equal(was, is)):
		r.Why = fmt.Sprintf("its unit was %s before, and is %s now", strings.Join(was, " and "), strings.Join(is, " and "))
	}
	return r, r.Why != ""
}

// unitsOf lists the units in which the trials give a measure, quoted.
func unitsOf(trials []report.Trial, m report.Measure) []string {
	var out []string
	for _, t := range trials {
		if x, ok := t.Metrics[m.Metric]; ok {
			out = append(out, strconv.Quote(x.Unit))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func unit(trials []report.Trial, m report.Measure) string {
	for _, t := range trials {
		if x, ok := t.Metrics[m.Metric]; ok {
			return x.Unit
		}
	}
	return "1"
}

// unjudged is what a guarantee is that was judged before and is not now.
const unjudged = "not judged"

// guarantees lists those whose worst verdict changed.
func guarantees(old, new []report.Trial) []Row {
	before, after := worst(old), worst(new)
	for g := range before {
		if after[g] == "" {
			after[g] = unjudged
		}
	}
	var out []Row
	for _, g := range slices.Sorted(maps.Keys(after)) {
		was, known := before[g]
		now := after[g]
		if !known || was == now {
			continue
		}
		r := Row{What: "verdict " + g, Decides: true, Why: was + " before, " + now + " now", Result: Unknown,
			Old: Side{N: len(old)}, New: Side{N: len(new)}}
		switch {
		case now == report.Fail:
			r.Result = Worse
		case was == report.Fail || now == report.Pass:
			r.Result = Better
		}
		out = append(out, r)
	}
	return out
}

// worst returns the worst result of each guarantee over repeated trials.
func worst(trials []report.Trial) map[string]string {
	rank := func(result string) int {
		switch result {
		case report.Fail:
			return 2
		case report.Pass:
			return 0
		}
		return 1
	}
	out := map[string]string{}
	for _, t := range trials {
		for _, v := range t.Verdicts {
			if was, ok := out[v.Guarantee]; !ok || rank(v.Result) > rank(was) {
				out[v.Guarantee] = v.Result
			}
		}
	}
	return out
}

// judge concludes the rows.
func (c *Comparison) judge() {
	tests := 0
	for _, r := range c.Rows {
		if r.Decides && r.P != nil {
			tests++
		}
	}
	c.Result = report.Pass
	decided := false
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.P != nil {
			r.decide(c.Limit, max(tests, 1))
		}
		if !r.Decides {
			continue
		}
		decided = true
		switch {
		case r.Result == Worse:
			c.Result = report.Fail
		case r.Result == Unknown && c.Result == report.Pass:
			c.Result = report.Unknown
		}
	}
	if !decided {
		c.Result = report.Unknown
	}
}

// More is how many more trials of each the comparison probably takes; 0 where more
// would not help.
func (c Comparison) More() int {
	n := 0
	for _, r := range c.Rows {
		if r.Decides && r.Result == Unknown {
			n = max(n, r.More)
		}
	}
	return n
}

// notes lists the versions that differ: that is often what is compared.
func notes(old, new report.Run) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(new.Versions)) {
		if was, ok := old.Versions[k]; ok && was != new.Versions[k] {
			out = append(out, fmt.Sprintf("%s: %s before, %s now", k, was, new.Versions[k]))
		}
	}
	if a, b := old.Host["name"], new.Host["name"]; a != b {
		out = append(out, fmt.Sprintf("host: %s before, %s now", or(a), or(b)))
	}
	return slices.DeleteFunc(out, func(s string) bool { return strings.TrimSpace(s) == "" })
}
