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
		if got := signedRank(n); got != want {
			t.Errorf("signedRank(%d) = %d, want %d", n, got, want)
		}
	}
	if a, b := signedRank(60), signedRank(61); b < a || b > a+30 {
		t.Errorf("signedRank(60) = %d, signedRank(61) = %d: counted out and approximated must meet", a, b)
	}
}

// The interval must hold the true ratio as often as it says.
func TestRatios_coverage(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const runs, truth = 3000, 1.07
	for _, n := range []int{6, 20, 100} {
		held := 0
		for range runs {
			var ratios []float64
			for range n {
				// Each of two neighbours has its own long-tailed moment.
				ratios = append(ratios, truth*math.Exp(0.1*(r.ExpFloat64()-r.ExpFloat64())))
			}
			if i := Ratios(ratios); *i.Low <= truth && truth <= *i.High {
				held++
			}
		}
		if held < runs*94/100 {
			t.Errorf("with %d pairs the interval holds the truth in %d of %d", n, held, runs)
		}
	}
}

func TestRatios_few(t *testing.T) {
	if i := Ratios([]float64{1, 4}); math.Abs(i.Center-2) > 1e-9 || i.Low != nil {
		t.Errorf("%+v, want 2 and no interval", i)
	}
}
