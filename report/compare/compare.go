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
	"maps"
	"slices"

	"github.com/zkbench/zkbench/report"
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

	higher bool    // higher is better
	alpha  float64 // false positive rate, shared by all rows with the same alpha
}

// Comparison is the result of comparing two runs.
type Comparison struct {
	Schema string     `json:"schema"`
	Old    report.Run `json:"old"`
	New    report.Run `json:"new"`
	Unlike []string   `json:"unlike,omitempty"` // why the runs should not be compared; empty unless forced
	Notes  []string   `json:"notes,omitempty"`  // acceptable differences
	Rows   []Row      `json:"rows"`
	Limit  float64    `json:"limit"` // the largest accepted regression
	Result string     `json:"result"`
}

// Runs compares two comparable runs (see [Unlike]). It adds a note for a cell that only one run has.
// If the new run does not have a deciding metric that the old run measured in the same cell, the row
// is unknown, so that a gate does not pass because a measurement is missing.
func Runs(old, new report.Result, o Options) Comparison {
	requested := o.Measures != nil
	if !requested {
		o.Measures = decidingMeasures()
	}
	c := Comparison{Schema: Schema, Old: old.Run, New: new.Run, Limit: o.MaxRegression, Notes: notes(old.Run, new.Run)}
	for _, r := range []report.Run{old.Run, new.Run} {
		if r.Ended != "" {
			c.Rows = append(c.Rows, Row{Cell: "run " + r.ID, What: "completed", Decides: true, Result: Unknown, Why: "the run ended early: " + r.Ended})
		}
	}
	olds, news := cells(old.Trials), cells(new.Trials)
	for _, name := range onlyIn(olds, news) {
		c.Notes = append(c.Notes, "only in the old run, not compared: "+name)
	}
	for _, name := range onlyIn(news, olds) {
		c.Notes = append(c.Notes, "only in the new run, not compared: "+name)
	}
	for _, key := range slices.Sorted(maps.Keys(olds)) {
		if b, both := news[key]; both {
			c.Rows = append(c.Rows, c.cell(olds[key], b, o)...)
			c.Notes = append(c.Notes, brokenInBoth(b.name, olds[key].trials, b.trials)...)
		}
	}
	if requested {
		c.Rows = append(c.Rows, missingRows(c.Rows, o.Measures)...)
	}
	c.judge()
	return c
}

func (c *Comparison) judge() {
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

// More returns the number of additional trials of each run that would probably decide the comparison;
// 0 if more trials would not help.
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
