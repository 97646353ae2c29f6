package plot

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot"

	"github.com/zkbench/zkbench/report/units"
)

func labels(axis plot.Axis) []string {
	var out []string
	for _, k := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		if k.Label != "" {
			out = append(out, k.Label)
		}
	}
	return out
}

func TestLogAxis_endsAtFriendlyNumbers(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   []string
	}{
		{"two decades have twos and fives", []float64{1e6, 90e6}, []string{"1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms", "100 ms"}},
		{"one value still has ticks around it", []float64{3e6}, []string{"2 ms", "5 ms"}},
		{"many decades have only powers of ten", []float64{1e3, 5e9}, []string{"1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"}},
		{"zeros and what is no number do not count", []float64{0, -3, math.NaN(), math.Inf(1), 3e6}, []string{"2 ms", "5 ms"}},
	} {
		p := plot.New()
		logAxis(&p.Y, c.values, units.Tick)
		if got := labels(p.Y); !slices.Equal(got, c.want) {
			t.Errorf("%s: ticks %v, want %v", c.name, got, c.want)
		}
		if !(p.Y.Min > 0 && p.Y.Max > p.Y.Min) {
			t.Errorf("%s: axis from %v to %v", c.name, p.Y.Min, p.Y.Max)
		}
	}
}

func TestCountAxis_marksWhatWasRun(t *testing.T) {
	for _, c := range []struct {
		counts []int
		want   []string
	}{{[]int{10, 25, 50, 100}, []string{"10", "25", "50", "100"}}, {[]int{100, 101, 102, 1000}, []string{"102", "1000"}}} { // none that overlap
		p := plot.New()
		countAxis(&p.X, c.counts)
		if got := labels(p.X); !slices.Equal(got, c.want) {
			t.Errorf("of %v: ticks %v, want %v", c.counts, got, c.want)
		}
	}
}

func TestSecondsAxis_isNeverEmpty(t *testing.T) {
	for _, c := range []struct {
		from, to    float64
		first, last string
	}{{0, 60, "0", "60"}, {2.03, 2.05, "2.030", "2.050"}, {300, 300, "299.6", "300.4"}, {-0.4, 31, "0", "30"}} {
		p := plot.New()
		secondsAxis(&p.X, c.from, c.to)
		got := labels(p.X)
		if len(got) < 2 || got[0] != c.first || got[len(got)-1] != c.last {
			t.Errorf("from %v to %v: ticks %v, want %s to %s", c.from, c.to, got, c.first, c.last)
		}
	}
}

func TestLogScale_neverPanics(t *testing.T) {
	for _, v := range []float64{0, -1, math.Inf(-1)} {
		if got := (logScale{}).Normalize(1, 10, v); got != 0 {
			t.Errorf("Normalize(%v) = %v, want 0", v, got)
		}
	}
	if got := (logScale{}).Normalize(1, 100, 10); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("Normalize(10) between 1 and 100 = %v, want the middle", got)
	}
}
