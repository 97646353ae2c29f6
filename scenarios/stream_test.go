package scenarios

import (
	"testing"

	"github.com/zkbench/zkbench/report/metrics"
)

func TestStream_everyAcquireThatIsDueIsAccountedFor(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `{name: stream, subjects: [election/parent], clients: [3], session_timeout: 4s, phases: [
		{name: steady, kind: stream, duration: 2s, rate: 20, hold: 0s},
		{name: ramp, kind: stream, duration: 2s, rate: 10, rate_to: 60, steps: 2, hold: 30ms}]}`) {
		sound(t, trial)
		if m := value(t, trial, metrics.Unserved); *m.Count < 40 || *m.Count > 110 {
			t.Errorf("%s: %d were due, want the 40 at a steady rate, and at most 70 in the ramp", trial.Name, *m.Count)
		}
		if m := trial.Metrics[metrics.AcquireLatency]; m.Count == nil || *m.Count > 40 {
			t.Errorf("%s: %v acquires have a latency, want those at a steady rate", trial.Name, m.Count)
		}
		if _, some := trial.Metrics[metrics.Capacity]; !some {
			t.Errorf("%s: nothing is said of what it keeps up with", trial.Name)
		}
	}
}

func TestStream_everyItemArrives(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `{name: stream, subjects: [queue/parent, queue/predecessor], clients: [2], session_timeout: 4s,
		phases: [{name: stream, kind: stream, duration: 6s, producers: 2, rate: 10, size: 300, hold: 0s}]}`) {
		sound(t, trial)
		// A machine that stands still for up to a second in the end leaves no time to put what is due then.
		unput := int64(*value(t, trial, metrics.QueueUndelivered).Value)
		if unput > 10 {
			t.Errorf("%s: %d items were not delivered", trial.Name, unput)
		}
		m := trial.Metrics[metrics.QueueLatency]
		if m.Count == nil {
			t.Fatalf("%s: nothing arrived", trial.Name)
		}
		if *m.Count+unput != 60 {
			t.Errorf("%s: %d items arrived and %d were never put, want all of the 60 that were due", trial.Name, *m.Count, unput)
		}
		if y := value(t, trial, metrics.QueueYield); *y.Value <= 0 || *y.Count != *m.Count {
			t.Errorf("%s: %v items a notification, of %d", trial.Name, *y.Value, *y.Count)
		}
	}
}

// Items are due every 50 ms, and one consumer
// needs 100 ms for each. So the n-th item is taken 50 ms later after its due time
// than the one before, which only who counts from due will see.
func TestStream_aSlowConsumerCannotHide(t *testing.T) {
	t.Parallel()
	trial := runTrials(t, `{name: stream, subjects: [queue/predecessor], clients: [1], session_timeout: 4s,
		phases: [{name: stream, kind: stream, duration: 1s, producers: 1, rate: 20, hold: 100ms}]}`)["stream-queue-predecessor-1"]
	m := trial.Metrics[metrics.QueueLatency]
	if m.Max == nil || *m.Max < 19*50e6 {
		t.Errorf("the last item took %v, want at least 950 ms", m.Max)
	}
}

// What was due and never put is counted, and is no loss.
func TestStream_producersThatCannotKeepUp(t *testing.T) {
	t.Parallel()
	trial := runTrials(t, `{name: stream, subjects: [queue/parent], clients: [1], session_timeout: 4s,
		phases: [{name: stream, kind: stream, duration: 100ms, producers: 1, rate: 50000, hold: 0s}]}`)["stream-queue-parent-1"]
	sound(t, trial)
	m := value(t, trial, metrics.QueueUndelivered)
	taken := *trial.Metrics[metrics.QueueLatency].Count
	if *m.Count != 5000 || *m.Value == 0 || int64(*m.Value)+taken != 5000 {
		t.Errorf("%d items were due, %v not delivered and %d taken; want 5000 in all, some of each", *m.Count, *m.Value, taken)
	}
}
