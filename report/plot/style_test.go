package plot

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
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

// A line is named where it ends while the names are short and few; else in the legend.
func TestEnds_standInTheLegendWithoutRoom(t *testing.T) {
	c := draw.New(vgsvg.New(width, height))
	for _, row := range []struct {
		label string
		lines int
		named bool
	}{{"lock/a", 2, true}, {"lock/a", 40, false}, {"lock/" + strings.Repeat("long", 20), 1, false}, {"", 0, false}} {
		if got := lineLabelsWidth(slices.Repeat([]lineLabel{{text: row.label}}, row.lines), c) > 0; got != row.named {
			t.Errorf("%d of %.10q are named at their ends: %v, want %v", row.lines, row.label, got, row.named)
		}
	}
	f := Growth(grown(100), metrics.HandoffLatency, "hand-off", NewGlyphs(nil))
	if len(f.entries(true)) != 0 || len(f.entries(false)) != 1 {
		t.Errorf("the legend has %d entries beside the name at the end, and %d without it", len(f.entries(true)), len(f.entries(false)))
	}
}
