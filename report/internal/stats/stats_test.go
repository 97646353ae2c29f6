package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMore(t *testing.T) {
	for _, row := range []struct {
		about     string
		n         int
		low, high float64
		limit     float64
		want      int
	}{
		{"an interval twice too wide takes four times as many, and some", 10, 0.9, 1.1, 1.05, 38},
		{"one that just touches takes a few", 10, 0.95, 1.05, 1.05, 2},
		{"a limit at the center is never decided: bounded", 10, 0.9, 1.1, 1, 1000},
	} {
		if got := More(row.n, Interval{1, &row.low, &row.high}, row.limit); got != row.want {
			t.Errorf("%s: %d, want %d", row.about, got, row.want)
		}
	}
	if got := More(2, Interval{Center: 1}, 1.05); got != 4 {
		t.Errorf("without an interval: %d, want those up to 6", got)
	}
}

// Tables and comparisons of the same trials show the same median.
func TestMiddle_isTheMedian(t *testing.T) {
	for _, row := range []struct {
		values []float64
		want   float64
		ok     bool
	}{{[]float64{3, 1, 2}, 2, true}, {[]float64{4, 1, 3, 2}, 2.5, true}, {nil, 0, false}} {
		if got, ok := Middle(row.values); got != row.want || ok != row.ok {
			t.Errorf("middle of %v is %v, %v; want %v", row.values, got, ok, row.want)
		}
		if len(row.values) > 0 && Median(row.values).Center != row.want {
			t.Errorf("the median of %v is %v, want %v", row.values, Median(row.values).Center, row.want)
		}
	}
}

func TestHalves_takesTwoOfEach(t *testing.T) {
	if got, ok := HalvesRatio([]float64{2, 1, 2, 1}); !ok || got != 2 {
		t.Errorf("got %v, %v; want 2", got, ok)
	}
	if _, ok := HalvesRatio([]float64{2, 1, 2}); ok {
		t.Error("three values have no two halves")
	}
}

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
