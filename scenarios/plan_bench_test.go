package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/metrics"
)

// BenchmarkChurn_armed compares a churn in which faults wait for an event that does not
// come with one that has none: armed/disarmed is the ratio of their throughputs, and
// noise that of two that have none. The three take turns, phase by phase in one trial,
// so that the machine's weather is the same for all; each ratio is the median of those
// of neighbours.
//
//	go test ./scenarios -run '^$' -bench armed -benchtime 8x
func BenchmarkChurn_armed(b *testing.B) {
	const rounds = 4
	var text strings.Builder
	text.WriteString("{name: idle, subjects: [lock/predecessor], clients: [10], session_timeout: 4s, phases: [")
	for i := range rounds {
		phase := "{name: %s-%d, kind: churn, duration: 2s, hold: 0s, faults: [%s]},"
		faults := "{on: 999999999 grants, fault: session.flap}, {on: client 9999 holds, fault: partition.isolate}"
		row := []string{fmt.Sprintf(phase, "armed", i, faults), fmt.Sprintf(phase, "disarmed", i, ""), fmt.Sprintf(phase, "other", i, "")}
		row = slices.Concat(row[i%3:], row[:i%3])
		if i%2 == 1 {
			slices.Reverse(row)
		}
		text.WriteString(strings.Join(row, ""))
	}
	text.WriteString("]}")
	var ratios, noise []float64
	for b.Loop() {
		trial := runTrials(b, text.String())["idle-lock-predecessor-10"]
		for i := range rounds {
			throughput := func(name string) float64 {
				m := trial.Metrics[fmt.Sprintf("%s.%s-%d", metrics.Throughput, name, i)]
				if m.Value == nil || *m.Value == 0 {
					b.Fatalf("%s-%d was not measured: %+v", name, i, m)
				}
				return *m.Value
			}
			ratios = append(ratios, throughput("armed")/throughput("disarmed"))
			noise = append(noise, throughput("other")/throughput("disarmed"))
		}
	}
	reportRatio(b, "armed/disarmed", ratios)
	reportRatio(b, "noise", noise)
	b.ReportMetric(0, "ns/op") // it is the length of the phases
}
