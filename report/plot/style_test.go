package plot

import (
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

// grown is a scenario of one subject whose trials have that many samples each.
func grown(samples int64) matrix.Scenario {
	var trials []report.Trial
	for _, n := range []int{10, 100} {
		trials = append(trials, report.Trial{Cell: history.Cell{Scenario: "s", Subject: "lock/a, b", Clients: n}, Metrics: map[string]report.Metric{
			metrics.HandoffLatency: {Unit: "ns", Count: &samples, P50: new(float64(n) * 1e5), P99: new(float64(n) * 1.5e5)}}})
	}
	return matrix.GroupScenarios(trials)[0]
}

func TestCSV_hasEveryPointAndItsUnit(t *testing.T) {
	got, err := Growth(grown(100), metrics.HandoffLatency, "hand-off", NewGlyphs(nil)).CSV()
	want := "series,contenders,\"hand-off latency p50, ns\"\n\"lock/a, b\",10,1e+06\n\"lock/a, b\",100,1e+07\n" +
		"\"lock/a, b (p99)\",10,1.5e+06\n\"lock/a, b (p99)\",100,1.5e+07\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// A median of three samples is not drawn as if it were one of three thousand.
func TestGrowth_isNotDrawnOfFewSamples(t *testing.T) {
	if f := Growth(grown(minSamples-1), metrics.HandoffLatency, "hand-off", NewGlyphs(nil)); f != nil {
		t.Error("medians of a few samples are drawn")
	}
}
