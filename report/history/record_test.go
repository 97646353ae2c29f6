package history

import (
	"testing"
	"time"
)

func TestArrivals_rate(t *testing.T) {
	flat, ramp := Arrivals{For: 10 * time.Second, Rate: 20}, Arrivals{For: 10 * time.Second, Rate: 20, RateTo: 120}
	steps := ramp
	steps.Steps = 5
	for _, c := range []struct {
		name string
		of   Arrivals
		at   time.Duration
		want float64
	}{
		{"a constant rate stays", flat, 9 * time.Second, 20},
		{"a ramp begins at rate", ramp, 0, 20},
		{"half way up", ramp, 5 * time.Second, 70},
		{"and does not go beyond its end", ramp, 11 * time.Second, 120},
		{"the first step is at rate", steps, 1999 * time.Millisecond, 20},
		{"the next is a quarter up", steps, 2 * time.Second, 45},
		{"the last is at its end", steps, 8 * time.Second, 120},
		{"and lasts", steps, 10 * time.Second, 120},
		{"a length of nothing is no ramp", Arrivals{Rate: 1, RateTo: 2}, 0, 1},
	} {
		if got := c.of.RateAt(c.at); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if flat.Ramp() || !ramp.Ramp() || (*Arrivals)(nil).Ramp() {
		t.Error("only what rises is a ramp")
	}
}
