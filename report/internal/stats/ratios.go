package stats

import (
	"math"
	"slices"
)

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

// normalQuantile returns the p-quantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
