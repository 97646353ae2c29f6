package report

import (
	"strings"
	"testing"
)

func TestParseThreshold_againstBase(t *testing.T) {
	for expr, want := range map[string]string{
		"handoff.latency.p50 <= 1.05*base": "",
		"throughput >= 0.95*base":          "",
		"handoff.latency.p50 == 1*base":    "two measurements are never equal",
		"handoff.latency.p50 <= much*base": "not a multiple of the base",
		"handoff.latency.p50 <= -1*base":   "not a multiple of the base",
		"handoff.latency.p50 <= *base":     "not a multiple of the base",
	} {
		_, err := ParseThreshold(expr)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", expr, err, want)
		}
	}
}
