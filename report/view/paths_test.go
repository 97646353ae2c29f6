package view

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

// The number of paths and the throughput over all of them are on the page.
func TestPaths_areInTheSummary(t *testing.T) {
	of := func(paths string, repetition int) report.Trial {
		return report.Trial{Repetition: repetition, Cell: history.Cell{Scenario: "many", Subject: "lock/mine", Clients: 200, Params: map[string]string{"paths": paths}},
			Metrics: map[string]report.Metric{metrics.Throughput: {Unit: "1/s", Value: new(193.0), Note: "of 100 paths, path 67 had the fewest (40) and path 41 the most (59)"}}}
	}
	for _, row := range []struct {
		trials []report.Trial
		want   string
	}{
		{[]report.Trial{of("100", 0)}, "many: lock/mine with 200 contenders on 100 paths"},
		{[]report.Trial{of("1", 0)}, "many: lock/mine with 200 contenders"},
		{[]report.Trial{of("10", 0), of("100", 0)}, "many: lock/mine paths=10 and lock/mine paths=100 with 200 contenders"},
	} {
		if got := describeScenario(matrix.GroupScenarios(row.trials)[0]); got != row.want {
			t.Errorf("%s\nwant %s", got, row.want)
		}
	}
	const want = "lock/mine: a throughput of 193/s in total; of 100 paths, path 67 had the fewest (40)"
	if got := pathsText("lock/mine", of("100", 1)); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := pathsText("lock/mine", of("100", 2)); got != "" {
		t.Errorf("another repetition: %s", got)
	}
}
