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

// Comparison compares one subject with the base of its run, for one metric and one cell of the
// matrix. The trials of subject and base alternate, so that each trial of the subject pairs with an
// adjacent trial of the base. The comparison uses the ratio within each pair, because a drift of the
// machine's speed hardly affects it.
type Comparison struct {
	history.Cell        // of the subject
	Metric       string `json:"metric"` // with its field: "handoff.latency.p50"
	Unit         string `json:"unit"`
	Pairs        int    `json:"pairs"` // number of the subject's trials that pair with a trial of the base
	// Medians over the trials.
	SubjectMedian float64 `json:"subject_median"`
	BaseMedian    float64 `json:"base_median"`
	// Ratio is the center of subject over base for all pairs. The confidence level of its interval is
	// 95 % over all evaluations of the comparison; a scenario with extra_time evaluates it repeatedly.
	Ratio Interval `json:"ratio"`
	// Noise compares the base with itself: the ratio of each odd trial to the even trial after it.
	// It is nil if the base has no such two trials.
	Noise *Interval `json:"noise,omitempty"`
}

// Interval is a median and its confidence interval at 95 % or more.
type Interval = stats.Interval

// String describes the comparison: "0.98 of lock/go-zookeeper's (0.97 to 0.99 in 20 pairs; ...)".
func (c Comparison) String() string {
	s := fmt.Sprintf("%s of %s's", factorText(c.Ratio.Center), units.Clean(c.Base))
	s += fmt.Sprintf(" (%s in %s", intervalText(c.Ratio), units.Plural(c.Pairs, "pair"))
	if c.Noise != nil {
		s += fmt.Sprintf("; %s compared with itself: %s, %s", units.Clean(c.Base), factorText(c.Noise.Center), intervalText(*c.Noise))
	}
	return s + ")"
}

func intervalText(i Interval) string {
	if i.Low == nil {
		return "no confidence interval"
	}
	return factorText(*i.Low) + " to " + factorText(*i.High)
}

func factorText(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func (c Comparison) matches(m Measure, t Trial) bool {
	return c.Metric == m.String() && t.inCell(c.Subject, c.Cell)
}

func (t Trial) inCell(subject string, other history.Cell) bool {
	return t.Subject == subject && t.EqualExceptSubject(other)
}

// Repetitions returns the subject's trials in the cell, by repetition. It ignores the cell's subject.
func Repetitions(trials []Trial, subject string, cell history.Cell) map[int]Trial {
	out := map[int]Trial{}
	for _, t := range trials {
		if t.inCell(subject, cell) {
			out[t.Repetition] = t
		}
	}
	return out
}

// compareWithBase compares the repeated cells with their base, and adds each threshold on the
// base to the last trial of its cell. baseConditions contains these thresholds, by trial name.
func (r *Result) compareWithBase(baseConditions map[string][]Condition) {
	var measures []Measure
	for _, d := range metrics.All() {
		if d.Main != "" {
			measures = append(measures, Measure{d.Name, d.Main})
		}
	}
	var others []Measure
	for _, c := range slices.Concat(slices.Collect(maps.Values(baseConditions))...) {
		others = append(others, c.measure())
	}
	slices.SortFunc(others, func(a, b Measure) int { return cmp.Compare(a.String(), b.String()) })
	r.Comparisons = compareAll(r.Trials, slices.Concat(measures, slices.Compact(others)))
	for i := range r.Trials {
		t := &r.Trials[i]
		last := slices.Max(slices.Collect(maps.Keys(Repetitions(r.Trials, t.Subject, t.Cell))))
		if t.Subject == t.Base || t.Repetition < last {
			continue
		}
		for _, c := range baseConditions[t.Name] {
			t.Thresholds = append(t.Thresholds, c.evaluateBase(*t, r.Comparisons))
		}
	}
}

// Undecided reports whether more trials may decide a threshold on the base in the given cell of any
// subject: its result is unknown, and no trial of the cell has failed.
func (r Result) Undecided(cell history.Cell) bool {
	undecided := false
	for _, t := range r.Trials {
		if !t.EqualExceptSubject(cell) {
			continue
		}
		if t.Outcome() == Fail {
			return false
		}
		undecided = undecided || slices.ContainsFunc(t.Thresholds, func(th Threshold) bool {
			c, err := ParseThreshold(th.Expr)
			return err == nil && c.ComparesWithBase() && th.Result == Unknown
		})
	}
	return undecided
}

func compareAll(trials []Trial, measures []Measure) []Comparison {
	var out []Comparison
	for i, t := range trials {
		sameCell := func(x Trial) bool { return x.inCell(t.Subject, t.Cell) }
		if t.Base == "" || t.Base == t.Subject || slices.ContainsFunc(trials[:i], sameCell) {
			continue // each cell is compared once, at its first trial
		}
		subject, base := Repetitions(trials, t.Subject, t.Cell), Repetitions(trials, t.Base, t.Cell)
		for _, m := range measures {
			done := slices.ContainsFunc(out, func(c Comparison) bool { return c.matches(m, t) })
			if c, ok := compareCells(m, subject, base); ok && !done {
				c.Cell = t.Cell
				out = append(out, c)
			}
		}
	}
	return out
}

func compareCells(m Measure, subject, base map[int]Trial) (c Comparison, ok bool) {
	c.Metric = m.String()
	var ratios, subjects, bases, noise []float64
	for _, k := range slices.Sorted(maps.Keys(subject)) {
		b, s := m.Value(base[k]), m.Value(subject[k])
		if b == nil || s == nil || *b <= 0 || *s <= 0 {
			continue
		}
		ratios, subjects, bases = append(ratios, *s / *b), append(subjects, *s), append(bases, *b)
		c.Unit = subject[k].Metrics[m.Metric].Unit
	}
	if len(ratios) == 0 {
		return c, false
	}
	look := 0
	for _, trials := range []map[int]Trial{subject, base} {
		for _, t := range trials {
			look = max(look, t.Look)
		}
	}
	for k := 1; ; k += 2 {
		odd, even := m.Value(base[k]), m.Value(base[k+1])
		if _, more := base[k+1]; !more {
			break
		}
		if odd != nil && even != nil && *odd > 0 && *even > 0 {
			noise = append(noise, *odd / *even)
		}
	}
	c.Pairs, c.Ratio = len(ratios), stats.HodgesLehmann(ratios, stats.SequentialConfidence(look))
	c.SubjectMedian, c.BaseMedian = stats.Median(subjects).Center, stats.Median(bases).Center
	if len(noise) > 0 {
		c.Noise = new(stats.HodgesLehmann(noise, stats.Confidence))
	}
	return c, true
}

func (c Condition) evaluateBase(t Trial, all []Comparison) Threshold {
	for _, x := range all {
		if x.matches(c.measure(), t) {
			return c.judgeAgainst(x)
		}
	}
	why := "not measured in any pair of trials"
	m := t.Metrics[c.Metric]
	switch {
	case t.Base == "":
		why = "the scenario does not name a base"
	case m.Field(c.Field) != nil && m.TooFew(c.Field):
		why = c.tooFew(m)
	}
	return Threshold{Expr: c.Expr, Result: Unknown, Measured: why}
}
