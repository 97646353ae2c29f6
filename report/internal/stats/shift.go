package stats

import (
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

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
