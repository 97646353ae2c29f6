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

// TestFlap_costsWhatTheFormulaSays: what the others do when one in the middle of the line is gone for a moment
// is exactly what the formulas say, on the wire and by the members' own counters.
func TestFlap_costsWhatTheFormulaSays(t *testing.T) {
	trials := runTrials(t, `
name: flap
subjects: [lock/parent, lock/predecessor, election/parent, election/predecessor, queue/parent, queue/predecessor, lock/go-zookeeper]
clients: [5]
session_timeout: 10s
phases:
  - {name: flap, kind: flap, rounds: 2, hold: 0s}
`)
	for name, want := range map[string]float64{
		"flap-lock-parent-5": 7, "flap-lock-predecessor-5": 1, "flap-lock-go-zookeeper-5": 1,
		"flap-election-parent-5": 7, "flap-election-predecessor-5": 1,
		"flap-queue-parent-5": 0, "flap-queue-predecessor-5": 1,
	} {
		trial := trials[name]
		sound(t, trial)
		m := value(t, trial, metrics.FlapNotifications)
		if *m.Value != want || m.Expected == nil || *m.Expected != want || m.Servers == nil || *m.Servers != want {
			t.Errorf("%s: %v notifications a flap on the wire, %v by the members, formula %v; want %v", name, *m.Value, m.Servers, m.Expected, want)
		}
		if trial.Formulas["flap"] == "" {
			t.Errorf("%s: nothing says in words what is expected", name)
		}
	}
}

// TestFlap_theLastInLine: nobody stands behind it.
func TestFlap_theLastInLine(t *testing.T) {
	trials := runTrials(t, `
name: flap
subjects: [lock/predecessor]
clients: [2]
session_timeout: 10s
phases:
  - {name: flap, kind: flap, rounds: 1, hold: 0s}
`)
	if m := value(t, trials["flap-lock-predecessor-2"], metrics.FlapNotifications); *m.Value != 0 || *m.Expected != 0 {
		t.Errorf("%v notifications, formula %v; want none", *m.Value, *m.Expected)
	}
}
