package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

// manySessions is a trial in which so many were opened.
func manySessions(n int) report.Trial {
	of := func(v float64, unit, note string) metrics.Metric {
		return metrics.Metric{Unit: unit, Value: &v, Count: new(int64(n)), Note: note}
	}
	return report.Trial{Name: "many", Cell: history.Cell{Scenario: "scale", Subject: "lock/a", Clients: n}, Metrics: map[string]metrics.Metric{
		metrics.ConnectAll:        of(4.7e9, "ns", ""),
		metrics.ConnectLatency:    {Unit: "ns", Count: new(int64(n)), P50: new(60e6), P99: new(290e6), Max: new(400e6)},
		metrics.ReconnectAll:      of(2.7e9, "ns", ""),
		metrics.SessionHeap:       of(16_384, "B/session", ""),
		metrics.SessionStacks:     of(8192, "B/session", ""),
		metrics.SessionGoroutines: of(3, "1/session", ""),
		metrics.SessionsExpired:   of(2, "1", "1 by the servers' word"),
		metrics.MemberQueue:       of(15, "1", "zk1, while sessions were being opened"),
		metrics.MemberSilent:      of(4, "1", "zk2 4 times"),
		metrics.HandoffLatency:    {Unit: "ns", Count: new(int64(200)), P50: new(2e6), P99: new(8e6), Max: new(20e6)},
	}}
}

func TestView_saysWhatManySessionsTake(t *testing.T) {
	said := headlines(manySessions(100), manySessions(1000))
	for _, want := range []string{
		"Time until all were connected, 1000 sessions: 4.70 s (p99 290 ms).",
		"Heap per session, 1000 sessions: 16.4 kB/session (3 goroutines, with 8192 B of stacks).",
		"Time until all were reconnected, 1000 sessions: 2.70 s.",
		"Longest request queue of a member, 1000 sessions: 15 (zk1, while sessions were being opened; no answer: zk2 4 times).",
		"Hand-off (p50), 1000 sessions: 2.00 ms (p99 8.00 ms).",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("it does not say\n%q, but\n%q", want, said)
		}
	}
	v := Of(Input{Result: report.Result{Trials: []report.Trial{manySessions(100), manySessions(1000)}}, Traces: map[string]*report.Trace{}})
	if !strings.Contains(v.Asked, "with 100 and 1000 sessions") {
		t.Errorf("it was asked %q", v.Asked)
	}
	said = nil
	for _, f := range v.Figures {
		said = append(said, f.Title, f.About)
	}
	for _, s := range v.Sections {
		for _, b := range s.Blocks {
			said = append(said, b.Fold)
		}
	}
	if text := strings.Join(said, "\n"); strings.Contains(text, "contender") || !strings.Contains(text, "Connect latency by sessions") {
		t.Errorf("most of the clients do not contend, and the page says\n%s", text)
	}
	var heads []string
	for _, c := range v.Tables[0].Columns {
		heads = append(heads, c.Head)
	}
	for _, want := range []string{"all connected", "heap/session", "all reconnected", "expired", "queue"} {
		if !slices.Contains(heads, want) {
			t.Errorf("the table has no %s, but %q", want, heads)
		}
	}
	if row := v.Tables[0].Rows[1].Cells; !slices.Contains(row, "2 of 1000") {
		t.Errorf("how many expired of how many is not in %q", row)
	}
}
