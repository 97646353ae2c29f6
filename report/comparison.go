package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
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
	// the ratio of two equal things here and now. Absent below two pairs.
	Noise *Interval `json:"noise,omitempty"`
}

// Interval is a median, or the middle of ratios, and its confidence interval at 95 % or
// more.
type Interval = stats.Interval

// String says it in words: "0.98 of lock/go-zookeeper's (0.97 to 0.99 in 20 pairs; ...)".
func (c Comparison) String() string {
	s := fmt.Sprintf("%s of %s's", factorText(c.Ratio.Center), units.Clean(c.Base))
	s += fmt.Sprintf(" (%s in %s", span(c.Ratio), units.Plural(c.Pairs, "pair"))
	if c.Noise != nil {
		s += fmt.Sprintf("; %s against itself %s, %s", units.Clean(c.Base), factorText(c.Noise.Center), span(*c.Noise))
	}
	return s + ")"
}

// span writes the interval as a factor: "0.97 to 0.99".
func span(i Interval) string {
	if i.Low == nil {
		return "no confidence interval"
	}
	return factorText(*i.Low) + " to " + factorText(*i.High)
}

func factorText(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// isOf says whether the comparison is that of the measure in the trial's cell.
func (c Comparison) isOf(m Measure, t Trial) bool {
	return c.Metric == m.String() && t.inCell(c.Subject, c.Cell)
}

// inCell says whether the trial is one of the subject, in the other's cell.
func (t Trial) inCell(subject string, beside history.Cell) bool {
	return t.Subject == subject && t.Beside(beside)
}

// Repetitions returns the trials of the subject in a cell, or in the cell beside it, by
// their repetition.
func Repetitions(trials []Trial, subject string, beside history.Cell) map[int]Trial {
	out := map[int]Trial{}
	for _, t := range trials {
		if t.inCell(subject, beside) {
			out[t.Repetition] = t
		}
	}
	return out
}

// compareWithBase compares the repeated cells with their base, and gives each threshold
// against it to the last trial of its cell. asked has these, by trial.
func (r *Result) compareWithBase(asked map[string][]Condition) {
	var measures []Measure
	for _, d := range metrics.All() {
		if d.Main != "" {
			measures = append(measures, Measure{d.Name, d.Main})
		}
	}
	var others []Measure
	for _, cs := range asked {
		for _, c := range cs {
			others = append(others, c.measure())
		}
	}
	slices.SortFunc(others, func(a, b Measure) int { return cmp.Compare(a.String(), b.String()) })
	r.Comparisons = against(r.Trials, slices.Concat(measures, slices.Compact(others)))
	for i := range r.Trials {
		t := &r.Trials[i]
		last := slices.Max(slices.Collect(maps.Keys(Repetitions(r.Trials, t.Subject, t.Cell))))
		if t.Subject == t.Base || t.Repetition < last {
			continue
		}
		for _, c := range asked[t.Name] {
			t.Thresholds = append(t.Thresholds, c.against(*t, r.Comparisons))
		}
	}
}

// Undecided says whether more trials of the cell, and of those beside it, may tell whether a
// threshold on the base holds: these do not, and nothing has failed in them.
func (r Result) Undecided(beside history.Cell) bool {
	open := false
	for _, t := range r.Trials {
		if !t.Beside(beside) {
			continue
		}
		if t.Outcome() == Fail {
			return false
		}
		open = open || slices.ContainsFunc(t.Thresholds, func(th Threshold) bool {
			c, err := ParseThreshold(th.Expr)
			return err == nil && c.TakesBase() && th.Result == Unknown
		})
	}
	return open
}

// against compares every repeated cell with the same cell of the run's base.
func against(trials []Trial, measures []Measure) []Comparison {
	var out []Comparison
	for i, t := range trials {
		mine := func(x Trial) bool { return x.inCell(t.Subject, t.Cell) }
		if t.Base == "" || t.Base == t.Subject || slices.ContainsFunc(trials[:i], mine) {
			continue // a cell is compared with its first trial
		}
		subject, base := Repetitions(trials, t.Subject, t.Cell), Repetitions(trials, t.Base, t.Cell)
		for _, m := range measures {
			done := slices.ContainsFunc(out, func(c Comparison) bool { return c.isOf(m, t) })
			if c, ok := compareCells(m, subject, base); ok && !done {
				c.Cell = t.Cell
				out = append(out, c)
			}
		}
	}
	return out
}

// compareCells compares a measure; false where there is no pair.
func compareCells(m Measure, subject, base map[int]Trial) (c Comparison, ok bool) {
	c.Metric = m.String()
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
		return c, false
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
	c.Pairs, c.Ratio = len(ratios), stats.Ratios(ratios)
	c.SubjectMedian, c.BaseMedian = stats.Median(mine).Center, stats.Median(theirs).Center
	if len(noise) > 0 {
		c.Noise = new(stats.Ratios(noise))
	}
	return c, true
}

// against judges the condition for the cell that t belongs to.
func (c Condition) against(t Trial, all []Comparison) Threshold {
	for _, x := range all {
		if x.isOf(c.measure(), t) {
			return c.judgeAgainst(x)
		}
	}
	why := "not measured in any pair of trials"
	m := t.Metrics[c.Metric]
	switch {
	case t.Base == "":
		why = "the scenario names no base"
	case m.Field(c.Field) != nil && m.TooFew(c.Field):
		why = c.tooFew(m)
	}
	return Threshold{Expr: c.Expr, Result: Unknown, Measured: why}
}
