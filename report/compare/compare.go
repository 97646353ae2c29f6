// Package compare says whether one run is worse than another, and refuses to guess.
//
//	c := compare.Runs(before, after, compare.Options{MaxRegression: 0.05})
//	fmt.Println(c.Result, c.Sentence())
//
// Counts (notifications and requests a hand-off) that a formula says exactly are held to
// each other exactly. Other counts, latencies and throughput vary: one value a trial goes into the
// comparison, never one an operation, because operations of one trial are not
// independent. Where the trials are too few or too noisy, the answer is unknown, with the
// number of trials that would probably decide it.
package compare

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/report"
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
	Measures      []report.Measure // whose rows decide, beside counts and guarantees; nil is what the metrics say
}

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

	higher bool    // is better
	alpha  float64 // how often all rows like it together may be called different by chance
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
// both have is unknown: a gate must not pass because nobody measured.
func Runs(old, new report.Result, o Options) Comparison {
	asked := o.Measures != nil
	if !asked {
		o.Measures = deciding()
	}
	c := Comparison{Schema: Schema, Old: old.Run, New: new.Run, Limit: o.MaxRegression, Notes: notes(old.Run, new.Run)}
	for _, r := range []report.Run{old.Run, new.Run} {
		if r.Ended != "" {
			c.Rows = append(c.Rows, Row{Cell: "run " + r.ID, What: "completed", Decides: true, Result: Unknown, Why: "it ended early: " + r.Ended})
		}
	}
	olds, news := cells(old.Trials), cells(new.Trials)
	for _, name := range onlyIn(olds, news) {
		c.Notes = append(c.Notes, "only before, and not compared: "+name)
	}
	for _, name := range onlyIn(news, olds) {
		c.Notes = append(c.Notes, "only now, and not compared: "+name)
	}
	for _, key := range slices.Sorted(maps.Keys(olds)) {
		if b, both := news[key]; both {
			c.Rows = append(c.Rows, c.cell(olds[key], b, o)...)
			c.Notes = append(c.Notes, still(b.name, olds[key].trials, b.trials)...)
		}
	}
	if asked {
		c.Rows = append(c.Rows, missing(c.Rows, o.Measures)...)
	}
	c.judge()
	return c
}

// judge decides the rows and the comparison.
func (c *Comparison) judge() {
	tests := map[float64]int{} // by the chance that they share
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
		if was, ok := old.Versions[k]; ok {
			out = append(out, differ(k, was, new.Versions[k])...)
		}
	}
	return append(out, differ("host", old.Host["name"], new.Host["name"])...)
}
