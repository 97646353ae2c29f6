// Package compare determines whether one run is worse than another.
//
//	c := compare.Runs(before, after, compare.Options{MaxRegression: 0.05})
//	fmt.Println(c.Result, c.Sentence())
//
// Counts (notifications and requests per hand-off) that equal their formula are compared
// exactly. Other counts, latencies and throughput vary: the comparison uses one value per trial,
// never one per operation, because operations of one trial are not independent. If there are too few
// trials, or they are too noisy, the result is unknown, and the comparison contains the number of
// trials that would probably decide it.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// The results of a row. The result of a whole comparison is report.Pass (not worse), report.Fail
// (worse) or report.Unknown.
const (
	Worse   = "worse"
	Better  = "better"
	Same    = "not worse"
	Unknown = report.Unknown
)

// Schema is the version of a comparison written as JSON.
const Schema = "zkbench.comparison/v1"

// Options configures a comparison.
type Options struct {
	MaxRegression float64          // as a fraction: 0.05 allows a latency to grow by 5 %
	Measures      []report.Measure // deciding measures, in addition to counts and guarantees; nil: the metrics' defaults
}

// Side is the value of one run in a row: the median over its trials, and their number.
type Side struct {
	report.Interval
	N int `json:"n"` // trials
}

// Row is the comparison of one number in one cell.
type Row struct {
	Cell    string           `json:"cell"` // "herd, lock/parent, 50 clients"
	What    string           `json:"what"` // "handoff.latency.p50", "fanout.notifications", "verdict fifo"
	Unit    string           `json:"unit,omitempty"`
	Old     Side             `json:"old"`
	New     Side             `json:"new"`
	Ratio   *report.Interval `json:"ratio,omitempty"` // new over old; nil if the row has no numbers, or old is 0
	P       *float64         `json:"p,omitempty"`     // p-value of the Mann-Whitney U test
	Noise   *float64         `json:"noise,omitempty"` // median of the old run's odd trials over the median of its even trials
	Decides bool             `json:"decides"`
	Result  string           `json:"result"`
	Why     string           `json:"why,omitempty"`  // reason for an unknown result, or for a result without numbers
	More    int              `json:"more,omitempty"` // additional trials of each run that would probably decide it

	higherIsBetter bool
	alpha          float64 // false positive rate, shared by all rows with the same alpha
}

// Comparison is the result of comparing two runs.
type Comparison struct {
	Schema      string     `json:"schema"`
	Old         report.Run `json:"old"`
	New         report.Run `json:"new"`
	Differences []string   `json:"unlike,omitempty"` // why the runs should not be compared; empty unless forced
	Notes       []string   `json:"notes,omitempty"`  // acceptable differences
	Rows        []Row      `json:"rows"`
	Limit       float64    `json:"limit"` // the largest accepted regression
	Result      string     `json:"result"`
}

// Runs compares two comparable runs (see [IncomparableReasons]). It adds a note for a cell that only one run has.
// If the new run does not have a deciding metric that the old run measured in the same cell, the row
// is unknown, so that a gate does not pass because a measurement is missing.
func Runs(old, new report.Result, o Options) Comparison {
	requested := o.Measures != nil
	if !requested {
		o.Measures = decidingMeasures()
	}
	c := Comparison{Schema: Schema, Old: old.Run, New: new.Run, Limit: o.MaxRegression, Notes: notes(old.Run, new.Run)}
	for _, r := range []report.Run{old.Run, new.Run} {
		if r.EndReason != "" {
			c.Rows = append(c.Rows, Row{Cell: "run " + r.ID, What: "completed", Decides: true, Result: Unknown, Why: "the run ended early: " + r.EndReason})
		}
	}
	oldCells, newCells := cells(old.Trials), cells(new.Trials)
	for _, name := range onlyIn(oldCells, newCells) {
		c.Notes = append(c.Notes, "only in the old run, not compared: "+name)
	}
	for _, name := range onlyIn(newCells, oldCells) {
		c.Notes = append(c.Notes, "only in the new run, not compared: "+name)
	}
	for _, key := range slices.Sorted(maps.Keys(oldCells)) {
		if b, both := newCells[key]; both {
			c.Rows = append(c.Rows, c.cell(oldCells[key], b, o)...)
			c.Notes = append(c.Notes, brokenInBoth(b.name, oldCells[key].trials, b.trials)...)
		}
	}
	if requested {
		c.Rows = append(c.Rows, missingRows(c.Rows, o.Measures)...)
	}
	c.judge(requested)
	return c
}

// judge sets the results. Unless metrics were requested, one that varies must have been compared.
func (c *Comparison) judge(requested bool) {
	tests := map[float64]int{} // by alpha
	for _, r := range c.Rows {
		if r.Decides && r.P != nil {
			tests[r.alpha]++
		}
	}
	c.Result = report.Pass
	decided := false
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.P != nil {
			r.decide(c.Limit, max(tests[r.alpha], 1))
		}
		if !r.Decides {
			continue
		}
		decided = decided || requested || r.P != nil || r.Result == Unknown
		switch {
		case r.Result == Worse:
			c.Result = report.Fail
		case r.Result == Unknown && c.Result == report.Pass:
			c.Result = report.Unknown
		}
	}
	if !decided && c.Result == report.Pass {
		c.Result = report.Unknown
	}
}

// More returns how many more trials of each run would probably decide the comparison; 0 if they would not help.
func (c Comparison) More() int {
	n := 0
	for _, r := range c.Rows {
		if r.Decides && r.Result == Unknown {
			n = max(n, r.More)
		}
	}
	return n
}

// notes lists acceptable differences: versions, which are often the purpose of a comparison, and hosts.
func notes(old, new report.Run) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(new.Versions)) {
		if before, ok := old.Versions[k]; ok {
			out = append(out, difference(k, before, new.Versions[k])...)
		}
	}
	return append(out, difference("host", old.Host["name"], new.Host["name"])...)
}

type cell struct {
	name   string
	trials []report.Trial
	bases  map[int]report.Trial // by repetition; nil without a base
	base   string
}

// cells groups trials by cell. The keys omit parameters that do not vary within a run, so that cells
// of two runs match although such a parameter differs.
func cells(trials []report.Trial) map[string]cell {
	out := map[string]cell{}
	for _, s := range matrix.GroupScenarios(trials) {
		for _, x := range s.Series {
			for _, n := range s.Counts {
				at := x.At(n)
				if len(at) == 0 {
					continue
				}
				c := cell{trials: at, base: at[0].Base}
				c.name = fmt.Sprintf("%s, %s, %s", s.Name, x.Label, units.Plural(n, "client"))
				if c.base != "" && c.base != at[0].Subject {
					c.bases = report.Repetitions(trials, c.base, at[0].Cell)
				}
				out[fmt.Sprintf("%s\x00%06d\x00%s", s.Name, n, x.Label)] = c
			}
		}
	}
	return out
}

func onlyIn(a, b map[string]cell) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if _, both := b[key]; !both {
			out = append(out, a[key].name)
		}
	}
	return out
}

func (c *Comparison) cell(old, new cell, o Options) []Row {
	var rows []Row
	add := func(r Row, ok bool) {
		if ok {
			r.Cell = new.name
			rows = append(rows, r)
		}
	}
	for _, g := range guaranteeRows(old.trials, new.trials) {
		add(g, true)
	}
	for _, d := range metrics.All() {
		if d.Exact {
			add(count(old.trials, new.trials, d.Name, d.Slack, c.Limit))
		}
	}
	relative := old.base != "" && old.base == new.base
	for _, m := range slices.Concat(shownMeasures(), o.Measures) {
		decides := slices.Contains(o.Measures, m)
		if slices.ContainsFunc(rows, func(r Row) bool { return r.What == m.String() }) {
			continue
		}
		if relative && len(old.bases) > 0 && len(new.bases) > 0 {
			r, ok := compareSamples(m, old.ratios(m), new.ratios(m))
			r.What, r.Unit, r.Decides = m.String()+" over "+new.base, "1", decides
			add(r, ok)
			decides = decides && !ok
		}
		decides = decides && !(relative && old.trials[0].Subject == old.base)
		r, ok := incomparable(old.trials, new.trials, m)
		if !ok {
			r, ok = compareSamples(m, values(old.trials, m), values(new.trials, m))
			r.Unit = unit(new.trials, m)
		}
		r.Decides = decides
		add(r, ok)
	}
	return rows
}

// IncomparableReasons returns the conditions that differ between two runs and make them incomparable. The result is
// empty if the runs can be compared.
//
// Different hosts are accepted if every subject was measured together with a base: then the comparison
// uses ratios, which eliminate the host's speed.
func IncomparableReasons(old, new report.Result) []string {
	a, b := old.Run.Ensemble, new.Run.Ensemble
	out := slices.Concat(difference("ensemble", a.Kind, b.Kind),
		difference("members", strconv.Itoa(a.Members), strconv.Itoa(b.Members)),
		difference("observers", strconv.Itoa(len(a.Observers)), strconv.Itoa(len(b.Observers))), difference("tick", a.Tick.String(), b.Tick.String()))
	if !(allHaveBase(old.Trials) && allHaveBase(new.Trials)) {
		for _, fact := range []string{"os", "arch", "cpus", "cpu"} {
			out = append(out, difference("host's "+fact, old.Run.Host[fact], new.Run.Host[fact])...)
		}
	}
	return append(out, differentCells(old.Trials, new.Trials)...)
}

func allHaveBase(trials []report.Trial) bool {
	return len(trials) > 0 && !slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Base == "" })
}

func differentCells(old, new []report.Trial) []string {
	var out []string
	oldCells, newCells := cells(old), cells(new)
	if only := onlyIn(oldCells, newCells); len(only) > 0 {
		out = append(out, "only the old run has "+strings.Join(only, "; "))
	}
	if only := onlyIn(newCells, oldCells); len(only) > 0 {
		out = append(out, "only the new run has "+strings.Join(only, "; "))
	}
	for _, k := range slices.Sorted(maps.Keys(oldCells)) {
		if n, both := newCells[k]; both {
			for _, d := range differingParams(oldCells[k].trials[0], n.trials[0]) {
				if !slices.Contains(out, d) {
					out = append(out, d)
				}
			}
		}
	}
	return out
}

func differingParams(old, new report.Trial) []string {
	a, b, either := map[string]string{}, map[string]string{}, map[string]string{}
	maps.Copy(a, old.Params)
	maps.Copy(b, new.Params)
	a["base"], b["base"] = old.Base, new.Base
	maps.Copy(either, a)
	maps.Copy(either, b)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(either)) {
		out = append(out, difference(k, a[k], b[k])...)
	}
	if len(out) == 0 && old.Phases != "" && new.Phases != "" && old.Phases != new.Phases {
		out = append(out, "the phases differ, for example in rounds, faults or sizes: see scenario.yaml of both runs")
	}
	return out
}

func difference(fact, before, now string) []string {
	if before == now {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s before, %s now", fact, cmp.Or(before, "none"), cmp.Or(now, "none"))}
}
