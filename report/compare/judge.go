package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"golang.org/x/perf/benchmath"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// alpha is how often, over a whole comparison, two runs of equal things may be
// called different by chance.
const alpha = 0.05

// count compares a count exactly, but for the slack: the most that new has against
// the most that old had.
func count(old, new []report.Trial, metric string, slack float64) (Row, bool) {
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
		Old: Side{report.IntervalOf(a), len(a)}, New: Side{report.IntervalOf(b), len(b)},
	}
	most, least := slices.Max(a), slices.Min(a)
	r.Ratio = ratioOf(slices.Max(b), most)
	switch eps := 1e-9; {
	case slices.Max(b) > most*(1+slack+eps):
		r.Result = Worse
		r.Why = fmt.Sprintf("at most %s before, up to %s now", units.Quantity(most, r.Unit), units.Quantity(slices.Max(b), r.Unit))
	case slices.Min(b) < least*(1-slack-eps):
		r.Result = Better
	}
	return r, true
}

func ratioOf(new, old float64) *report.Interval {
	if old <= 0 {
		return nil
	}
	return &report.Interval{Center: new / old}
}

// statistic compares two samples of one value a trial.
func statistic(m report.Measure, old, new []float64) (Row, bool) {
	if len(old) == 0 || len(new) == 0 {
		return Row{}, false
	}
	r := Row{What: m.String(), Result: Unknown, Old: Side{report.IntervalOf(old), len(old)}, New: Side{report.IntervalOf(new), len(new)}, higher: m.HigherIsBetter()}
	r.Noise = halves(old)
	test := benchmath.AssumeNothing.Compare(
		benchmath.NewSample(slices.Clone(old), &benchmath.DefaultThresholds), benchmath.NewSample(slices.Clone(new), &benchmath.DefaultThresholds))
	r.P = &test.P
	r.Ratio = shift(old, new)
	return r, true
}

// halves is the median of the odd trials over that of the even ones: what two halves
// of one thing differ by. Nil below four.
func halves(values []float64) *float64 {
	var odd, even []float64
	for i, v := range values {
		if i%2 == 0 {
			odd = append(odd, v)
		} else {
			even = append(even, v)
		}
	}
	if len(even) < 2 {
		return nil
	}
	a, b := report.IntervalOf(odd).Center, report.IntervalOf(even).Center
	if b <= 0 {
		return nil
	}
	return new(a / b)
}

// decide judges a row of samples, one of so many that are tested together: the
// chance of a false alarm is shared among them.
//
// Worse takes both: a difference that is hardly chance, and one that is larger than
// the limit. Not worse takes a confidence interval that ends before the limit. What
// is in between is unknown.
func (r *Row) decide(limit float64, tests int) {
	cost, ok := r.cost()
	if !ok {
		r.Result, r.Why = Unknown, "a value is 0"
		return
	}
	need := fewest(alpha / float64(tests))
	if n := min(r.Old.N, r.New.N); n < need || cost.Low == nil {
		r.Result, r.More = Unknown, max(1, need-n)
		r.Why = fmt.Sprintf("not enough trials: run %s", more(r.More))
		return
	}
	likely := *r.P < alpha/float64(tests)
	switch {
	case likely && cost.Center > 1+limit:
		r.Result = Worse
	case likely && *cost.High < 1:
		r.Result = Better
	case *cost.High <= 1+limit:
		r.Result = Same
	default:
		r.Result = Unknown
		r.More = report.MoreTrials(min(r.Old.N, r.New.N), cost, 1+limit)
		r.Why = fmt.Sprintf("too noisy to rule out a regression of %s: run %s", percent(limit), more(r.More))
	}
}

// cost is the ratio turned so that more is worse.
func (r *Row) cost() (report.Interval, bool) {
	if r.Ratio == nil || r.Ratio.Center <= 0 {
		return report.Interval{}, false
	}
	if !r.higher {
		return *r.Ratio, true
	}
	c := report.Interval{Center: 1 / r.Ratio.Center}
	if r.Ratio.Low != nil {
		c.Low, c.High = new(1 / *r.Ratio.High), new(1 / *r.Ratio.Low)
	}
	return c, true
}

func more(n int) string { return units.Plural(n, "more trial") + " of each" }

// percent writes a fraction: "5 %".
func percent(f float64) string { return strconv.FormatFloat(math.Round(f*1e4)/1e2, 'f', -1, 64) + " %" }

// shift is by what factor new differs from old: the median of all quotients of one
// of new over one of old, with its confidence interval by the distribution of the U
// statistic (Hodges and Lehmann's estimator, on logarithms). It goes with the
// Mann-Whitney test: the interval holds 1 where that sees no difference. Nil where a
// value is not positive.
func shift(old, new []float64) *report.Interval {
	var quotients []float64
	for _, a := range old {
		for _, b := range new {
			if a <= 0 || b <= 0 {
				return nil
			}
			quotients = append(quotients, b/a)
		}
	}
	slices.Sort(quotients)
	n := len(quotients)
	i := &report.Interval{Center: math.Sqrt(quotients[(n-1)/2] * quotients[n/2])}
	if k := rank(len(old), len(new)); k > 0 {
		i.Low, i.High = &quotients[k-1], &quotients[n-k]
	}
	return i
}

// exactUpTo is the size of a sample up to which the U statistic is counted out.
const exactUpTo = 20

// rank is the rank of the quotient that bounds the confidence interval from below,
// from 1; 0 where the samples are too small for one.
func rank(m, n int) int {
	half := (1 - report.Confidence) / 2
	if m > exactUpTo || n > exactUpTo {
		const z = 1.959964 // of the normal distribution, for 95 %
		fm, fn := float64(m), float64(n)
		return max(0, int(math.Floor(fm*fn/2-z*math.Sqrt(fm*fn*(fm+fn+1)/12))))
	}
	ways := arrangements(m, n)
	total := 0.0
	for _, w := range ways {
		total += w
	}
	k, sum := 0, 0.0
	for ; k < len(ways); k++ {
		if sum += ways[k]; sum/total > half {
			break
		}
	}
	return k
}

// arrangements counts in how many ways m and n values can be interleaved so that the
// U statistic is 0, 1, 2 and so on.
func arrangements(m, n int) []float64 {
	if m == 0 || n == 0 {
		return []float64{1}
	}
	// The largest value of all is one of m, and stands above all n, or one of n.
	table := make([][][]float64, m+1)
	for i := range table {
		table[i] = make([][]float64, n+1)
		for j := range table[i] {
			table[i][j] = make([]float64, i*j+1)
			if i == 0 || j == 0 {
				table[i][j][0] = 1
				continue
			}
			for u, w := range table[i-1][j] {
				table[i][j][u+j] += w
			}
			for u, w := range table[i][j-1] {
				table[i][j][u] += w
			}
		}
	}
	return table[m][n]
}

// fewest is how many trials of each it takes until the U test can be that sure: with
// n of each, the least that it can say is 2 in (2n choose n).
func fewest(p float64) int {
	n, ways := 1, 2.0
	for 2/ways > p {
		n++
		ways = ways * float64(2*n) * float64(2*n-1) / float64(n*n)
	}
	return n
}
