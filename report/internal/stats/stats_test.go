package stats

import "testing"

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

func TestMiddle_isAValueThatWasMeasured(t *testing.T) {
	for _, row := range []struct {
		values []float64
		want   float64
		ok     bool
	}{{[]float64{3, 1, 2}, 2, true}, {[]float64{4, 1, 3, 2}, 2, true}, {nil, 0, false}} {
		if got, ok := Middle(row.values); got != row.want || ok != row.ok {
			t.Errorf("middle of %v is %v, %v; want %v", row.values, got, ok, row.want)
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
