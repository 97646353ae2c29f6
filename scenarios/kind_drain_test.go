package scenarios

import (
	"testing"

	"github.com/zkbench/zkbench/report/metrics"
)

// TestDeliver_wakesAsManyAsTheFormulaSays: an item wakes exactly as many consumers as the formula says, on the
// wire and by the members' own counters.
func TestDeliver_wakesAsManyAsTheFormulaSays(t *testing.T) {
	trials := runTrials(t, `
name: deliver
subjects: [queue/parent, queue/predecessor]
clients: [1, 4]
session_timeout: 10s
phases:
  - {name: deliver, kind: drain, rounds: 2, size: 200, hold: 0s}
`)
	for name, want := range map[string]float64{
		"deliver-queue-parent-1": 1, "deliver-queue-predecessor-1": 1,
		"deliver-queue-parent-4": 4, "deliver-queue-predecessor-4": 2,
	} {
		trial := trials[name]
		sound(t, trial)
		m := value(t, trial, metrics.FanoutNotifications)
		if *m.Value != want || m.Expected == nil || *m.Expected != want || m.Servers == nil || *m.Servers != want {
			t.Errorf("%s: %v notifications an item on the wire, %v by the members, formula %v; want %v", name, *m.Value, m.Servers, m.Expected, want)
		}
		if r := value(t, trial, metrics.FanoutRequests); *r.Value > *r.Expected {
			t.Errorf("%s: %v requests an item, the formula allows %v", name, *r.Value, *r.Expected)
		}
		if m, rated := trial.Metrics[metrics.Throughput]; rated {
			t.Errorf("%s: a throughput of %v, where the harness sets the pace", name, *m.Value)
		}
	}
}
