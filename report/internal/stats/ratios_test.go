package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The ranks are those of tables of the signed-rank statistic at 95 %, two-sided: the
// largest value that is still significant, and one.
func TestSignedRank(t *testing.T) {
	for n, want := range map[int]int{1: 0, 5: 0, 6: 1, 7: 3, 8: 4, 10: 9, 15: 26, 20: 53, 25: 90} {
		if got := signedRank(n, Confidence); got != want {
			t.Errorf("signedRank(%d) = %d, want %d", n, got, want)
		}
	}
	if a, b := signedRank(60, Confidence), signedRank(61, Confidence); b < a || b > a+30 {
		t.Errorf("signedRank(60) = %d, signedRank(61) = %d: counted out and approximated must meet", a, b)
	}
}

func TestRatios_few(t *testing.T) {
	if i := HodgesLehmann([]float64{1, 4}, Confidence); math.Abs(i.Center-2) > 1e-9 || i.Low != nil {
		t.Errorf("%+v, want 2 and no interval", i)
	}
}

// A gate looks at its pairs again and again, as enough of package scenarios does, until the interval
// of the ratio excludes 1. Where nothing differs, that must happen in at most 5 % of 2,000 gates;
// with the plain interval at each look it happens far more often.
func TestLook_boundsFalseAlarmsOfAGate(t *testing.T) {
	const gates, most = 2000, 90
	alarms := func(seed uint64, level func(look int) float64) int {
		r := rand.New(rand.NewPCG(seed, seed))
		found := 0
		for range gates {
			var ratios []float64
			for look, next := 1, 8; next <= most; look, next = look+1, next*3/2 {
				for len(ratios) < next {
					ratios = append(ratios, math.Exp(0.1*(r.ExpFloat64()-r.ExpFloat64())))
				}
				if i := HodgesLehmann(ratios, level(look)); i.Low != nil && (*i.Low > 1 || *i.High < 1) {
					found++
					break
				}
			}
		}
		return found
	}
	spent, plain := alarms(1, SequentialConfidence), alarms(1, func(int) float64 { return Confidence })
	t.Logf("false alarms in %d gates without a difference: %d; with the plain interval: %d", gates, spent, plain)
	if spent > gates*5/100 {
		t.Errorf("%d of %d gates without a difference raise an alarm, more than 5 %%", spent, gates)
	}
	if plain <= gates*5/100 {
		t.Errorf("with the plain interval only %d of %d do: the simulation has too few looks to show anything", plain, gates)
	}
}

func TestLook_spendsNoMoreThanTheError(t *testing.T) {
	sum := 0.0
	for n := 1; n <= 10000; n++ {
		sum += 1 - SequentialConfidence(n)
	}
	if sum > 1-Confidence {
		t.Errorf("10,000 looks spend %v", sum)
	}
}
