package plot

import (
	"math"
	"testing"

	"zkbench/report"
)

// The caption says that each line ends at the slowest that was measured: also where
// only a summary is at hand.
func TestDistribution_curveEndsAtTheSlowest(t *testing.T) {
	summary := report.Metric{Count: new(int64(15)), Min: new(1e6), P50: new(2e6), P90: new(5e6), Max: new(1.2e9)}
	for _, row := range []struct {
		name string
		of   Distribution
		want xy
	}{
		{"every sample", Distribution{Exact: []float64{3e6, 1e6, 9e6, 2e6}}, xy{nines(0.75), 9e6}},
		{"a summary", Distribution{Summary: summary}, xy{nines(14.0 / 15), 1.2e9}},
		{"a summary without a largest", Distribution{Summary: report.Metric{Count: new(int64(15)), Min: new(1e6), P90: new(5e6)}}, xy{1, 5e6}},
	} {
		curve := row.of.curve()
		got := curve[len(curve)-1]
		if math.Abs(got.x-row.want.x) > 1e-9 || got.y != row.want.y {
			t.Errorf("%s: it ends at %v, want %v", row.name, got, row.want)
		}
	}
}
