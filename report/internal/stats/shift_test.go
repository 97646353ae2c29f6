package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The ranks are those of tables of the U statistic at 95 %, two-sided: the largest
// value that is still significant, and one.
func TestURank(t *testing.T) {
	for _, row := range []struct{ m, n, want int }{
		{3, 3, 0}, {4, 4, 1}, {5, 5, 3}, {6, 6, 6}, {8, 8, 14}, {10, 10, 24}, {20, 20, 128}, {5, 10, 9}, {3, 20, 9},
	} {
		if got := uRank(row.m, row.n); got != row.want {
			t.Errorf("uRank(%d, %d) = %d, want %d", row.m, row.n, got, row.want)
		}
	}
	if a, b := uRank(20, 20), uRank(21, 20); b < a || b > a+12 {
		t.Errorf("uRank(20, 20) = %d, uRank(21, 20) = %d: counted out and approximated must meet", a, b)
	}
}

func TestFewest(t *testing.T) {
	for _, row := range []struct {
		p    float64
		want int
	}{{1, 1}, {0.05, 4}, {0.02857142857142858, 4}, {0.01, 5}, {0.05 / 4, 5}, {0.05 / 16, 6}} {
		if got := MinSampleSize(row.p); got != row.want {
			t.Errorf("Fewest(%v) = %d, want %d", row.p, got, row.want)
		}
	}
}

// An interval must hold the true ratio as often as it says.
func TestIntervals_coverage(t *testing.T) {
	const truth = 1.07
	for _, row := range []struct {
		about   string
		runs    int
		counts  []int
		measure func(r *rand.Rand, n int) Interval
	}{
		{"the shift of trials", 2000, []int{5, 12, 30}, func(r *rand.Rand, n int) Interval {
			var old, new []float64
			for range n {
				old = append(old, math.Exp(0.2*r.ExpFloat64()))
				new = append(new, truth*math.Exp(0.2*r.ExpFloat64()))
			}
			return *Shift(old, new)
		}},
		{"the ratio of pairs, of which each has its own long-tailed moment", 3000, []int{6, 20, 100}, func(r *rand.Rand, n int) Interval {
			var ratios []float64
			for range n {
				ratios = append(ratios, truth*math.Exp(0.1*(r.ExpFloat64()-r.ExpFloat64())))
			}
			return HodgesLehmann(ratios, Confidence)
		}},
	} {
		r := rand.New(rand.NewPCG(5, 5))
		for _, n := range row.counts {
			held := 0
			for range row.runs {
				if i := row.measure(r, n); *i.Low <= truth && truth <= *i.High {
					held++
				}
			}
			if held < row.runs*94/100 {
				t.Errorf("%s: with %d the interval holds the truth in %d of %d", row.about, n, held, row.runs)
			}
		}
	}
}

func TestShift_zero(t *testing.T) {
	if i := Shift([]float64{1, 0}, []float64{1, 2}); i != nil {
		t.Errorf("a factor of %v from nothing", i)
	}
}

func TestChangePoints(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	series := func(levels ...float64) (out []float64) {
		for _, l := range levels {
			for range 12 {
				out = append(out, l*math.Exp(0.02*r.NormFloat64()))
			}
		}
		return out
	}
	for _, row := range []struct {
		levels []float64
		want   []int
	}{
		{[]float64{10, 11}, []int{12}},
		{[]float64{10, 8, 12}, []int{12, 24}},
	} {
		if got := ChangePoints(series(row.levels...), 0.01); !slices.Equal(got, row.want) {
			t.Errorf("levels %v: changes at %v, want %v", row.levels, got, row.want)
		}
	}
	if got := ChangePoints([]float64{1, 1, 1, 9, 9, 9}, 0.01); got != nil {
		t.Errorf("six values: %v, want none: they cannot show it", got)
	}
	const simulated = 500
	found := 0
	for range simulated {
		if ChangePoints(series(10, 10, 10), 0.01) != nil {
			found++
		}
	}
	if found > simulated/100 {
		t.Errorf("changes in %d of %d series without one, want at most 1 %%", found, simulated)
	}
}
