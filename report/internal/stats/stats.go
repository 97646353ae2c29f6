package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level of every interval.
const Confidence = 0.95

// Interval is a median, or the center of ratios, with its confidence interval. Low and High are
// absent for fewer than 6 values.
type Interval struct {
	Center float64  `json:"center"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
}

// Inverse returns the interval of 1/x. All of it must be positive.
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

// Middle returns the lower of the two middle values, which was measured. It is false without a
// value.
func Middle(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return values[(len(values)-1)/2], true
}

// Halves returns the median of the odd values over the median of the even ones: how much two halves of
// the same measurement differ. It is false for fewer than four values.
func Halves(values []float64) (float64, bool) {
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

// minPairs is the number of values a confidence interval of 95 % needs.
const minPairs = 6

// More estimates how many further values, after n, are needed until an interval around the same
// center no longer contains the limit: its width shrinks with the root of their number.
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
