package view

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

func openLoop(subject string, capacity *float64, note string, unserved float64) report.Trial {
	return report.Trial{Name: subject, Cell: history.Cell{Scenario: "saturation", Subject: subject, Clients: 20}, Metrics: map[string]metrics.Metric{
		metrics.Capacity:       {Unit: "1/s", Phase: "ramp", Count: new(int64(900)), Value: capacity, Note: note},
		metrics.Unserved:       {Unit: "1", Value: &unserved, Count: new(int64(1000))},
		metrics.AcquireLatency: {Unit: "ns", Count: new(int64(200)), P50: new(3e6), P99: new(9e6), Max: new(20e6)},
		metrics.HandoffLatency: {Unit: "ns", Count: new(int64(200)), P50: new(2e6), P99: new(8e6), Max: new(20e6)},
		metrics.Throughput:     {Unit: "1/s", Value: new(50.0)},
	}}
}

func TestView_saysWhatIsKeptUpWith(t *testing.T) {
	a, b, c := openLoop("lock/a", new(412.0), "when it fell behind, 430 a second were done", 0),
		openLoop("lock/b", new(1020.0), "it kept up to the end: this is the least that it can", 0),
		openLoop("lock/c", new(15.0), "when it fell behind, 15 a second were done", 7)
	got := found(a, b, c)
	for _, want := range []string{
		"With a rising arrival rate, lock/a at 20 contenders kept up with 412/s; when it fell behind, 430 a second were done.",
		"With a rising arrival rate, lock/b at 20 contenders kept up with 1020/s; it kept up to the end: this is the least that it can.",
		"With a rising arrival rate, lock/c at 20 contenders kept up with 15/s; when it fell behind, 15 a second were done.",
		"Of 1000 acquires that were due, lock/c at 20 contenders did not grant 7 by the end.",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("it does not say\n%q, but\n%q", want, got)
		}
	}
	said := headlines(a, b)
	for _, want := range []string{
		"Capacity, 20 contenders: lock/b 1020/s (it kept up to the end: this is the least that it can); lock/a 412/s (when it fell behind, 430 a second were done).",
		"From due to granted (p50), 20 contenders: lock/a 3.00 ms (p99 9.00 ms); lock/b 3.00 ms (p99 9.00 ms).",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("it does not say\n%q, but\n%q", want, said)
		}
	}
	for _, s := range said {
		if s[:6] == "Grants" {
			t.Errorf("it says %q of a rate that the harness set", s)
		}
	}
}
