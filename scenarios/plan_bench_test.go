package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"zkbench/report"
)

// BenchmarkChurn_armed compares a churn in which faults wait for an event that does not
// come with one that has none: armed/disarmed is the ratio of their throughputs. The
// two take turns, phase by phase in one trial, so that the machine's weather is the
// same for both; the ratio is the median of those of neighbours.
//
//	go test ./scenarios -run '^$' -bench armed -benchtime 5x
func BenchmarkChurn_armed(b *testing.B) {
	const pairs = 16
	var text strings.Builder
	text.WriteString("{name: idle, subjects: [lock/predecessor], clients: [10], session_timeout: 4s, phases: [")
	for i := range pairs {
		idle := "{name: %[1]s-%[2]d, kind: churn, duration: 1s, hold: 0s, faults: [%[3]s]},"
		faults := "{on: 999999999 grants, fault: session.flap}, {on: client 9999 holds, fault: partition.isolate}"
		row := []string{fmt.Sprintf(idle, "armed", i, faults), fmt.Sprintf(idle, "disarmed", i, "")}
		if i%2 == 1 {
			slices.Reverse(row)
		}
		text.WriteString(strings.Join(row, ""))
	}
	text.WriteString("]}")
	var ratios []float64
	for b.Loop() {
		trial := runTrials(b, text.String())["idle-lock-predecessor-10"]
		for i := range pairs {
			armed, disarmed := trial.Metrics[fmt.Sprintf("%s.armed-%d", report.Throughput, i)], trial.Metrics[fmt.Sprintf("%s.disarmed-%d", report.Throughput, i)]
			if armed.Value == nil || disarmed.Value == nil || *disarmed.Value == 0 {
				b.Fatalf("pair %d was not measured: %+v, %+v", i, armed, disarmed)
			}
			ratios = append(ratios, *armed.Value / *disarmed.Value)
		}
	}
	reportRatio(b, "armed/disarmed", ratios)
	b.ReportMetric(0, "ns/op") // it is the length of the phases
}
