package plot

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

// TestThin_keepsTheExtremes: whatever the points, the thinned ones are some of them, in order, few
// enough, and the lowest and the highest are among them.
func TestThin_keepsTheExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(0, 3000).Draw(t, "points"), rapid.IntRange(3, 400).Draw(t, "limit")
		pts := make([]xy, n)
		x := 0.0
		for i := range pts {
			x += rapid.SampledFrom([]float64{0, 0.001, 1, 50}).Draw(t, "step")
			pts[i] = xy{x, rapid.Float64Range(-1e6, 1e6).Draw(t, "y")}
		}
		got := thin(pts, limit)
		if len(got) > limit {
			t.Fatalf("%d points, more than %d", len(got), limit)
		}
		at := 0
		for _, p := range got {
			i := slices.Index(pts[at:], p)
			if i < 0 {
				t.Fatalf("%v is not one of the points, or out of order", p)
			}
			at += i + 1
		}
		byY := func(a, b xy) int {
			switch {
			case a.y < b.y:
				return -1
			case a.y > b.y:
				return 1
			}
			return 0
		}
		if n > 0 && (slices.MinFunc(got, byY).y != slices.MinFunc(pts, byY).y || slices.MaxFunc(got, byY).y != slices.MaxFunc(pts, byY).y) {
			t.Fatal("an extreme was lost")
		}
	})
}

func TestFormatFixed_hasNoMinusBeforeNothing(t *testing.T) {
	if got := formatFixed(-0.001, 2); got != "0.00" {
		t.Errorf("formatFixed(-0.001, 2) = %q, want no minus before nothing", got)
	}
	if got := formatFixed(-0.12, 2); got != "-0.12" {
		t.Errorf("formatFixed(-0.12, 2) = %q", got)
	}
}

func TestExtent_coversFaults(t *testing.T) {
	from, to := extent(Timeline{Trace: &report.Trace{Faults: []report.Fault{{Start: 3 * time.Second, End: time.Second}}, Handoffs: []metrics.Handoff{{At: 5 * time.Second}}}})
	if from != 3 || to != 5 {
		t.Errorf("extent %v to %v, want 3 to 5: a fault does not end before it starts", from, to)
	}
}
