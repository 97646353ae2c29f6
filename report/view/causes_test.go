package view

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

func TestCauses_hasARowForEachCause(t *testing.T) {
	const s = time.Second
	trace := &report.Trace{
		Failovers: []metrics.Failover{
			{Phase: "release", Round: 1, At: 1 * s, Latency: 2 * time.Millisecond, Most: s},
			{Phase: "crash", Round: 1, At: 10 * s, Latency: 4 * s, Least: 3 * s, Most: 6 * s},
			{Phase: "crash", Round: 2, At: 20 * s, Latency: 5 * s, Least: 2 * s, Most: 7 * s},
			{Phase: "crash", Round: 3, At: 30 * s, Never: true, Least: 3 * s, Most: 6 * s},
		},
		Handoffs: []metrics.Handoff{{At: 1*s + 2*time.Millisecond, Leaderless: time.Millisecond}, {At: 14 * s, Leaderless: s}, {At: 25 * s, Leaderless: 2 * s}},
	}
	b := builder{Input: Input{Traces: map[string]*report.Trace{"a": trace}}, trials: []report.Trial{{Name: "a", Cell: history.Cell{Subject: "lock/a"}}, {Name: "b"}}}
	blocks := b.causes()
	if len(blocks) != 1 || len(blocks[0].Table.Rows) != 2 {
		t.Fatalf("%d blocks, want one with two rows: %+v", len(blocks), blocks)
	}
	for i, want := range [][]string{
		{"release", "1", "2.00 ms", "2.00 ms", "0 s to 1.00 s", "1.00 ms"},
		{"crash", "3 (1 without a grant)", "4.00 s to 5.00 s", "4.00 s", "2.00 s to 7.00 s", "1.00 s to 2.00 s"},
	} {
		if got := blocks[0].Table.Rows[i].Cells; !slices.Equal(got, want) {
			t.Errorf("row %d:\n%q\nwant\n%q", i, got, want)
		}
	}
}
