package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/units"
)

// alpha is the accepted probability that a whole comparison reports a difference by chance.
const alpha = 0.05

// countAlpha is alpha for counts that vary. Only counts that increased are tested, which doubles the
// probability of a false alarm.
const countAlpha = 0.005

// count compares a count. If every old trial equals the formula, any increase is worse. Other counts
// vary, because notifications coalesce and consumers race. They are not worse if the new maximum is at
// most the old maximum plus the slack, and the median did not increase by more than the limit (a
// single old trial may be an outlier). Otherwise the samples are compared like times.
func count(old, new []report.Trial, metric string, slack, limit float64) (Row, bool) {
	m := report.Measure{Metric: metric, Field: "value"}
	a, b := values(old, m), values(new, m)
	if r, ok := incomparable(old, new, m); ok {
		r.What, r.Decides = metric, true
		return r, true
	}
	if len(a) == 0 || len(b) == 0 {
		return Row{}, false
	}
	r := Row{
		What: metric, Unit: unit(new, m), Decides: true, Result: Same,
		Old: Side{stats.Median(a), len(a)}, New: Side{stats.Median(b), len(b)},
	}
	most, least := slices.Max(a), slices.Min(a)
	r.Ratio = ratioOf(slices.Max(b), most)
	switch eps := 1e-9; {
	case slices.Max(b) > most*(1+slack+eps) && equalsFormula(old, metric):
		r.Result = Worse
		r.Why = fmt.Sprintf("at most %s before, up to %s now", units.Quantity(most, r.Unit), units.Quantity(slices.Max(b), r.Unit))
	case slices.Max(b) > most*(1+slack+eps), r.New.Center > r.Old.Center*(1+max(slack, limit)+eps) && canTest(a, b):
		varies, _ := compareSamples(m, a, b)
		varies.What, varies.Unit, varies.Decides, varies.alpha = r.What, r.Unit, true, countAlpha
		return varies, true
	case slices.Min(b) < least*(1-slack-eps):
		r.Result = Better
	}
	return r, true
}

// canTest reports whether counts can be compared like times: there are enough, and all are above 0.
func canTest(a, b []float64) bool {
	return min(slices.Min(a), slices.Min(b)) > 0 && min(len(a), len(b)) >= stats.Fewest(countAlpha)
}

func equalsFormula(trials []report.Trial, metric string) bool {
	for _, t := range trials {
		if m, ok := t.Metrics[metric]; ok && (m.Expected == nil || m.Value == nil || *m.Value != *m.Expected) {
			return false
		}
	}
	return true
}

func ratioOf(new, old float64) *report.Interval {
	if old <= 0 {
		return nil
	}
	return &report.Interval{Center: new / old}
}

func compareSamples(m report.Measure, old, new []float64) (Row, bool) {
	if len(old) == 0 || len(new) == 0 {
		return Row{}, false
	}
	r := Row{What: m.String(), Result: Unknown, alpha: alpha, Old: Side{stats.Median(old), len(old)}, New: Side{stats.Median(new), len(new)}, higher: m.HigherIsBetter()}
	if noise, ok := stats.Halves(old); ok {
		r.Noise = &noise
	}
	p := stats.PValue(old, new)
	r.P = &p
	r.Ratio = stats.Shift(old, new)
	return r, true
}

// decide sets the result of a row with samples. tests is the number of rows that share the
// probability of a false alarm (Bonferroni correction).
//
// A significant increase above the limit is worse, a significant decrease is better. The result is not
// worse if the confidence interval ends below the limit, and otherwise unknown.
func (r *Row) decide(limit float64, tests int) {
	cost, ok := r.costRatio()
	if !ok {
		r.Result, r.Why = Unknown, "a value is 0, so a ratio cannot be computed"
		return
	}
	need := stats.Fewest(r.alpha / float64(tests))
	if n := min(r.Old.N, r.New.N); n < need || cost.Low == nil {
		r.Result, r.More = Unknown, max(1, need-n)
		r.Why = fmt.Sprintf("not enough trials: run %s", more(r.More))
		return
	}
	likely := *r.P < r.alpha/float64(tests)
	switch {
	case likely && cost.Center > 1+limit:
		r.Result = Worse
	case likely && *cost.High < 1:
		r.Result = Better
	case *cost.High <= 1+limit:
		r.Result = Same
	default:
		r.Result = Unknown
		r.More = stats.More(min(r.Old.N, r.New.N), cost, 1+limit)
		r.Why = fmt.Sprintf("too noisy to rule out a regression of %s: run %s", percent(limit), more(r.More))
	}
}

// costRatio returns the ratio, inverted if higher is better, so that a higher ratio is worse.
func (r *Row) costRatio() (report.Interval, bool) {
	if r.Ratio == nil || r.Ratio.Center <= 0 {
		return report.Interval{}, false
	}
	if !r.higher {
		return *r.Ratio, true
	}
	return r.Ratio.Inverse(), true
}

func more(n int) string { return units.Plural(n, "more trial") + " of each" }

// percent formats a fraction: "5 %".
func percent(f float64) string { return strconv.FormatFloat(math.Round(f*1e4)/1e2, 'f', -1, 64) + " %" }
