package compare

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/render"
)

// What people read is what a person approved.
func TestGolden(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	old, new := invent(r, "main", 10, 1, 0.01), invent(r, "branch", 10, 1.12, 0.01)
	new.Run.Versions["zookeeper"] = "3.9.4"
	*new.Trials[2].Metrics[metrics.FanoutNotifications].Value = 6.5
	few := invent(r, "few", 2, 1, 0.01)
	for name, c := range map[string]Comparison{"worse": Runs(old, new, five), "few": Runs(few, few, five)} {
		var table, markdown bytes.Buffer
		if err := render.Terminal(&table, c.View(), render.Term{Width: 160}); err != nil {
			t.Fatal(err)
		}
		if err := render.Markdown(&markdown, c.View()); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name+".txt", table.Bytes())
		golden.Compare(t, name+".md", markdown.Bytes())
	}
}

// A trend names the run from which on a metric has another level, and its CSV has a row for each run.
func TestTrend_namesChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var runs []report.Result
	for i := range 20 {
		cost := 1.0
		if i >= 10 {
			cost = 1.3
		}
		run := invent(r, string(rune('a'+i)), 3, cost, 0.01)
		run.Run.Start = run.Run.Start.AddDate(0, 0, i)
		runs = append(runs, run)
	}
	v := Trend(runs, nil)
	var found []string
	for _, f := range v.Findings {
		found = append(found, f.Text)
	}
	const want = "handoff.latency.p50 of herd, lock/predecessor, 10 clients changed with the run of 2026-12-01 03:00: median 1.0"
	if len(found) != 2 || !strings.HasPrefix(found[0], want) || !strings.Contains(found[0], "in the 10 runs before") || !strings.HasPrefix(found[1], "throughput of") {
		t.Errorf("findings %q, want %q and the throughput", found, want)
	}
	rows := strings.Split(strings.TrimSpace(TrendCSV(runs, []report.Measure{{Metric: metrics.HandoffLatency, Field: "p50"}})), "\n")
	if len(rows) != 21 || rows[0] != `time,run,"handoff.latency.p50 of herd, lock/parent, 10 clients","handoff.latency.p50 of herd, lock/predecessor, 10 clients"` ||
		!strings.HasPrefix(rows[1], "2026-11-21T03:00:00Z,a,") || strings.Count(rows[20], ",") != 3 {
		t.Errorf("%d rows: %q", len(rows), rows[:2])
	}
}
