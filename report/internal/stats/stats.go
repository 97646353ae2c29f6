package stats

import (
	"math"
	"slices"

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

// Middle returns the middle value, or the lower of the two middle values, so that the result is a
// measured value. It returns false if there are no values.
func Middle(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return values[(len(values)-1)/2], true
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
