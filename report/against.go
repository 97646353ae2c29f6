package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Comparison sets one subject against the base of its run, in one metric and one
// cell of the matrix. The subjects took turns, so each trial has a neighbour of the
// other; what is compared is the ratio of neighbours, which a drift of the machine
// hardly touches.
type Comparison struct {
	history.Cell        // of the subject
	Metric       string `json:"metric"` // with its field: "handoff.latency.p50"
	Unit         string `json:"unit"`
	Pairs        int    `json:"pairs"` // trials of the subject that have a neighbour
	// Subject's and base's medians over their trials.
	SubjectMedian float64 `json:"subject_median"`
	BaseMedian    float64 `json:"base_median"`
	// Ratio is subject over base, the middle of all pairs.
	Ratio Interval `json:"ratio"`
	// Noise is the base against itself, each odd trial over the even one after it:
	// what a ratio of two equal things looks like here and now. Absent below two pairs.
	Noise *Interval `json:"noise,omitempty"`
}

// Interval is a median, or the middle of ratios, and its confidence interval at 95 % or more. Low and High
// are absent where there are too few values for one (below 6).
type Interval struct {
	Center float64  `json:"center"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
}

// Confidence is the level of every interval.
const Confidence = 0.95

// IntervalOf returns the median of the values with its confidence interval, by
// their order alone: nothing is assumed of their distribution.
func IntervalOf(values []float64) Interval {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), Confidence)
	i := Interval{Center: s.Center}
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
		i.Low, i.High = &s.Lo, &s.Hi
	}
	return i
}

// Measure names a number of a trial: a metric and its field.
type Measure struct{ Metric, Field string }

// String writes it as a threshold does: "handoff.latency.p50", "throughput".
func (m Measure) String() string {
	if m.Field == "value" {
		return m.Metric
	}
	return m.Metric + "." + m.Field
}

// Of returns the number of a trial, nil where it was not measured, or in too few samples.
func (m Measure) Of(t Trial) *float64 {
	x := t.Metrics[m.Metric]
	if x.tooFew(m.Field) {
		return nil
	}
	return x.field(m.Field)
}

// HigherIsBetter says in which direction a regression lies.
func (m Measure) HigherIsBetter() bool {
	better := m.Metric == Throughput || strings.HasPrefix(m.Metric, Throughput+".") || m.Metric == Fairness || m.Metric == QueueYield
	return better || m.Field == "count"
}

// ParseMeasure parses the left side of a threshold: "handoff.latency.p50".
func ParseMeasure(s string) (Measure, error) {
	metric, field, err := splitMetric(s)
	if err == nil && metric == allVerdicts {
		err = fmt.Errorf("%s is not a number", s)
	}
	return Measure{metric, field}, err
}

// compared are the measures that are always set against the base.
var compared = []Measure{
	{HandoffLatency, "p50"}, {FailoverLatency, "p50"}, {QueueLatency, "p50"}, {Throughput, "value"},
}

// against compares every repeated cell with the same cell of the run's base.
func against(trials []Trial, asked []Measure) []Comparison {
	var out []Comparison
	for i, t := range trials {
		if t.Base == "" || t.Base == t.Subject {
			continue
		}
		mine := func(x Trial) bool { return x.Subject == t.Subject && x.Beside(t.Cell) }
		if slices.ContainsFunc(trials[:i], mine) {
			continue // the cell was compared with its first trial
		}
		subject, bases := map[int]Trial{}, map[int]Trial{}
		for _, x := range trials {
			switch {
			case mine(x):
				subject[x.Repetition] = x
			case x.Subject == t.Base && x.Beside(t.Cell):
				bases[x.Repetition] = x
			}
		}
		for _, m := range slices.Concat(compared, asked) {
			c := Comparison{Cell: t.Cell, Metric: m.String()}
			done := slices.ContainsFunc(out, func(o Comparison) bool {
				return o.Metric == c.Metric && o.Subject == c.Subject && o.Beside(c.Cell)
			})
			if !done && c.measure(m, subject, bases) {
				out = append(out, c)
			}
		}
	}
	return out
}

// measure fills in the numbers; false where there is no pair.
func (c *Comparison) measure(m Measure, subject, base map[int]Trial) bool {
	var ratios, mine, theirs, noise []float64
	for _, k := range slices.Sorted(maps.Keys(subject)) {
		a, b := m.Of(base[k]), m.Of(subject[k])
		if a == nil || b == nil || *a <= 0 || *b <= 0 {
			continue
		}
		ratios, mine, theirs = append(ratios, *b / *a), append(mine, *b), append(theirs, *a)
		c.Unit = subject[k].Metrics[m.Metric].Unit
	}
	if len(ratios) == 0 {
		return false
	}
	for k := 1; ; k += 2 {
		odd, even := m.Of(base[k]), m.Of(base[k+1])
		if _, more := base[k+1]; !more {
			break
		}
		if odd != nil && even != nil && *odd > 0 && *even > 0 {
			noise = append(noise, *odd / *even)
		}
	}
	c.Pairs, c.Ratio = len(ratios), ratioOf(ratios)
	c.SubjectMedian, c.BaseMedian = IntervalOf(mine).Center, IntervalOf(theirs).Center
	if len(noise) > 0 {
		c.Noise = new(ratioOf(noise))
	}
	return true
}

// againstBase marks the value of a threshold as a multiple of the base's:
// "handoff.latency.p50 <= 1.05*base".
const againstBase = "*base"

// factor returns the multiple of the base's value that the condition allows.
func (c Condition) factor() (float64, bool) {
	digits, ok := strings.CutSuffix(c.Value, againstBase)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	return f, err == nil && f > 0 && !math.IsInf(f, 0)
}

// TakesBase says that one trial is not enough to judge the condition: it is held
// against the base's.
func (c Condition) TakesBase() bool { return strings.HasSuffix(c.Value, againstBase) }

// judgeAgainst holds a comparison to a condition. It is decided only where the
// whole confidence interval stands on one side of the limit: otherwise it says how
// many more trials would probably decide it.
func (c Condition) judgeAgainst(x Comparison) Threshold {
	limit, _ := c.factor()
	out := Threshold{Expr: c.Expr, Result: Unknown, Measured: x.String()}
	r := x.Ratio
	if r.Low == nil {
		out.Measured += fmt.Sprintf("; not enough trials for a confidence interval: run %s", more(minPairs-x.Pairs))
		return out
	}
	low, high := *r.Low, *r.High
	switch c.Op {
	case "<", "<=":
		switch {
		case holds(high, c.Op, limit):
			out.Result = Pass
		case !holds(low, c.Op, limit):
			out.Result = Fail
		}
	case ">", ">=":
		switch {
		case holds(low, c.Op, limit):
			out.Result = Pass
		case !holds(high, c.Op, limit):
			out.Result = Fail
		}
	}
	if out.Result == Unknown {
		out.Measured += "; the interval holds the limit: run " + more(MoreTrials(x.Pairs, r, limit))
	}
	return out
}

// minPairs is how many values a confidence interval of 95 % takes.
const minPairs = 6

// MoreTrials estimates how many more trials of each it takes until an interval
// around the same center no longer holds the limit: its width shrinks with the
// root of their number.
func MoreTrials(n int, i Interval, limit float64) int {
	if i.Low == nil {
		return max(1, minPairs-n)
	}
	half, away := i.Center-*i.Low, i.Center-limit
	if away < 0 {
		half, away = *i.High-i.Center, -away
	}
	most := float64(100 * n) // closer than that, nobody will tell
	if away <= 0 {
		return int(most)
	}
	need := float64(n) * (half / away) * (half / away) * 1.2
	return max(1, int(math.Ceil(min(need, most)))-n)
}

func more(n int) string { return units.Plural(max(n, 1), "more trial") + " of each" }

// String says it in words: "0.98 of lock/go-zookeeper's (0.97 to 0.99 in 20 pairs; ...)".
func (c Comparison) String() string {
	s := fmt.Sprintf("%s of %s's", factorText(c.Ratio.Center), units.Clean(c.Base))
	s += fmt.Sprintf(" (%s in %s", c.Ratio.Span(), units.Plural(c.Pairs, "pair"))
	if c.Noise != nil {
		s += fmt.Sprintf("; %s against itself %s, %s", units.Clean(c.Base), factorText(c.Noise.Center), c.Noise.Span())
	}
	return s + ")"
}

// Span writes the interval as a factor: "0.97 to 0.99".
func (i Interval) Span() string {
	if i.Low == nil {
		return "no confidence interval"
	}
	return factorText(*i.Low) + " to " + factorText(*i.High)
}

func factorText(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// settle compares the repeated cells with their base and hands each threshold
// against it to the last trial of its cell, the one that completed the comparison.
func (r *Result) settle(asked map[string][]Condition) {
	var measures []Measure
	for _, cs := range asked {
		for _, c := range cs {
			measures = append(measures, Measure{c.Metric, c.Field})
		}
	}
	slices.SortFunc(measures, func(a, b Measure) int { return cmp.Compare(a.String(), b.String()) })
	r.Comparisons = against(r.Trials, slices.Compact(measures))
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Subject == t.Base || !lastOfCell(r.Trials, *t) {
			continue
		}
		for _, c := range asked[t.Name] {
			t.Thresholds = append(t.Thresholds, c.against(*t, r.Comparisons))
		}
	}
}

// against judges the condition for the cell that t belongs to.
func (c Condition) against(t Trial, all []Comparison) Threshold {
	metric := Measure{c.Metric, c.Field}.String()
	for _, x := range all {
		if x.Metric == metric && x.Subject == t.Subject && x.Beside(t.Cell) {
			return c.judgeAgainst(x)
		}
	}
	why := "not measured in any pair of trials"
	if t.Base == "" {
		why = "the scenario names no base"
	}
	return Threshold{Expr: c.Expr, Result: Unknown, Measured: why}
}

func lastOfCell(trials []Trial, t Trial) bool {
	return !slices.ContainsFunc(trials, func(x Trial) bool {
		return x.Subject == t.Subject && x.Beside(t.Cell) && x.Repetition > t.Repetition
	})
}
