package report

import (
	"strings"
	"testing"
)

func TestParseThreshold_againstBase(t *testing.T) {
	for expr, want := range map[string]string{
		"handoff.latency.p50 <= 1.05*base": "",
		"throughput >= 0.95*base":          "",
		"handoff.latency.p50 == 1*base":    "no two measurements are equal",
		"handoff.latency.p50 <= much*base": "no multiple of the base",
		"handoff.latency.p50 <= -1*base":   "no multiple of the base",
		"handoff.latency.p50 <= *base":     "no multiple of the base",
	} {
		_, err := ParseThreshold(expr)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", expr, err, want)
		}
	}
}
