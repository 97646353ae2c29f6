package stats

import (
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Confidence is the level of every interval.
const Confidence = 0.95

// Interval is a median, or the center of ratios, with its confidence interval. Low and High are nil
// if there are too few values for an interval, at 95 % fewer than 6.
type Interval struct {
	Center float64  `json:"center"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
}

// Inverse returns the interval of 1/x. All values of i must be positive.
func (i Interval) Inverse() Interval {
	out := Interval{Center: 1 / i.Center}
	if i.Low != nil {
		out.Low, out.High = new(1 / *i.High), new(1 / *i.Low)
	}
	return out
}

// Median returns the median of the values with its confidence interval.
func Median(values []float64) Interval {
	s := benchmath.AssumeNothing.Summary(sample(values), Confidence)
	i := Interval{Center: s.Center}
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
		i.Low, i.High = &s.Lo, &s.Hi
	}
	return i
}

func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// Middle returns the median without its interval. It returns false if there are no values.
func Middle(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2, true
}

// HalvesRatio returns the median of the odd values divided by the median of the even values: the difference
// between two halves of the same measurement. It returns false for fewer than four values.
func HalvesRatio(values []float64) (float64, bool) {
	var odd, even []float64
	for i, v := range values {
		if i%2 == 0 {
			odd = append(odd, v)
		} else {
			even = append(even, v)
		}
	}
	if len(even) < 2 {
		return 0, false
	}
	a, b := Median(odd).Center, Median(even).Center
	return a / b, b > 0
}

// minPairs is the number of values that a confidence interval of 95 % needs.
const minPairs = 6

// More estimates the number of values that are needed in addition to n until an interval around the
// same center no longer contains the limit. The width shrinks with the root of the number of values.
func More(n int, i Interval, limit float64) int {
	if i.Low == nil {
		return max(1, minPairs-n)
	}
	half, away := i.Center-*i.Low, i.Center-limit
	if away < 0 {
		half, away = *i.High-i.Center, -away
	}
	most := float64(100 * n) // a smaller difference cannot be decided
	if away <= 0 {
		return int(most)
	}
	need := float64(n) * (half / away) * (half / away) * 1.2
	return max(1, int(math.Ceil(min(need, most)))-n)
}

// SequentialConfidence returns the confidence level of the n-th evaluation of data that grow until they allow a
// decision. The error 1-[Confidence] is distributed over all evaluations, with the weight 6/(pi n)^2
// for the n-th (alpha spending; Lan and DeMets, Biometrika 70, 1983; the weights sum to 1, so
// Bonferroni's inequality bounds the total). For n = 0, a single evaluation, it returns Confidence.
func SequentialConfidence(n int) float64 {
	if n == 0 {
		return Confidence
	}
	return 1 - (1-Confidence)*6/(math.Pi*math.Pi*float64(n)*float64(n))
}

// HodgesLehmann returns the center of the ratios of pairs (Hodges and Lehmann's estimator for pairs), with its
// confidence interval from the distribution of Wilcoxon's signed-rank statistic. It assumes that the
// logarithms of the ratios are distributed symmetrically about their center. It needs a third fewer
// pairs than [Median].
func HodgesLehmann(ratios []float64, confidence float64) Interval {
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		logs[i] = math.Log(r)
	}
	var means []float64 // of each pair of logarithms, including each with itself
	for i, a := range logs {
		for _, b := range logs[:i+1] {
			means = append(means, (a+b)/2)
		}
	}
	slices.Sort(means)
	n := len(means)
	out := Interval{Center: math.Exp((means[(n-1)/2] + means[n/2]) / 2)}
	if k := signedRank(len(ratios), confidence); k > 0 {
		out.Low, out.High = new(math.Exp(means[k-1])), new(math.Exp(means[n-k]))
	}
	return out
}

// maxExactPairs is the maximum number of pairs for which the exact distribution of the signed-rank
// statistic is computed.
const maxExactPairs = 60

func signedRank(n int, confidence float64) int {
	half := (1 - confidence) / 2
	if n > maxExactPairs {
		f := float64(n)
		return int(math.Floor(f*(f+1)/4 - normalQuantile(1-half)*math.Sqrt(f*(f+1)*(2*f+1)/24)))
	}
	// chances[s] is the probability that the ranks with a positive sign sum to s.
	chances := make([]float64, n*(n+1)/2+1)
	chances[0] = 1
	for r := 1; r <= n; r++ {
		for s := len(chances) - 1; s >= 0; s-- {
			chances[s] /= 2
			if s >= r {
				chances[s] += chances[s-r] / 2
			}
		}
	}
	k, sum := 0, 0.0
	for ; k < len(chances); k++ {
		if sum += chances[k]; sum > half {
			break
		}
	}
	return k
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// PValue returns the p-value of the Mann-Whitney U test: the probability that two samples of the same
// distribution differ at least as much as old and new.
func PValue(old, new []float64) float64 {
	return benchmath.AssumeNothing.Compare(sample(old), sample(new)).P
}

// Shift returns the factor between old and new: the median of all quotients of a new and an old value
// (Hodges and Lehmann's estimator, on logarithms), with its confidence interval from the distribution
// of the U statistic. It agrees with [PValue]: the interval contains 1 if PValue shows no difference.
// It returns nil if a value is not positive.
func Shift(old, new []float64) *Interval {
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
	i := &Interval{Center: math.Sqrt(quotients[(n-1)/2] * quotients[n/2])}
	if k := uRank(len(old), len(new)); k > 0 {
		i.Low, i.High = &quotients[k-1], &quotients[n-k]
	}
	return i
}

// segment is the smallest number of values between two change points.
const segment = 3

// ChangePoints returns the sorted indexes at which the level of a series changes, by binary segmentation
// (Scott and Knott 1974): it splits at the smallest p-value of the U test, if that is at most alpha
// after Bonferroni's correction for the number of splits, and then repeats this for both parts.
func ChangePoints(values []float64, alpha float64) (at []int) {
	best, p, splits := 0, 1.0, len(values)-2*segment+1
	for k := segment; k <= len(values)-segment; k++ {
		if q := PValue(values[:k], values[k:]); q < p {
			best, p = k, q
		}
	}
	if best == 0 || p*float64(splits) > alpha {
		return nil
	}
	at = append(ChangePoints(values[:best], alpha), best)
	for _, k := range ChangePoints(values[best:], alpha) {
		at = append(at, best+k)
	}
	return at
}

// exactUpTo is the maximum sample size for which the exact distribution of the U statistic is computed.
const exactUpTo = 20

// uRank returns the rank, from 1, of the confidence interval's lower quotient; 0 if the samples are too small.
func uRank(m, n int) int {
	half := (1 - Confidence) / 2
	if m > exactUpTo || n > exactUpTo {
		fm, fn := float64(m), float64(n)
		return max(0, int(math.Floor(fm*fn/2-normalQuantile(1-half)*math.Sqrt(fm*fn*(fm+fn+1)/12))))
	}
	u := stats.UDist{N1: m, N2: n}
	return sort.Search(m*n+1, func(k int) bool { return u.CDF(float64(k)) > half })
}

// MinSampleSize returns the size that both samples need so that the U test can return a p-value of at most p:
// with n values in each sample, the smallest p-value is 2/(2n choose n).
func MinSampleSize(p float64) int {
	n, ways := 1, 2.0
	for 2/ways > p {
		n++
		ways = ways * float64(2*n) * float64(2*n-1) / float64(n*n)
	}
	return n
}
