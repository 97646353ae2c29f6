package scenarios

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

func TestStream_everyAcquireThatIsDueIsAccountedFor(t *testing.T) {
	trials := runTrials(t, `
name: stream
subjects: [election/parent]
clients: [3]
session_timeout: 4s
phases:
  - {name: steady, kind: stream, duration: 2s, rate: 20, hold: 0s}
  - {name: ramp, kind: stream, duration: 2s, rate: 10, rate_to: 60, steps: 2, hold: 30ms}
`)
	for _, trial := range trials {
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

// turnstile is a lock that one after the other passes.
type turnstile struct {
	free  chan bool
	token *atomic.Int64
}

func (l turnstile) Acquire(ctx context.Context) (recipes.Claim, error) {
	select {
	case <-l.free:
		return recipes.Claim{Token: l.token.Add(1), Session: 1, Path: "/n"}, nil
	case <-ctx.Done():
		return recipes.Claim{}, ctx.Err()
	}
}

func (l turnstile) Release(context.Context) error { l.free <- true; return nil }
func (l turnstile) Close(context.Context) error   { return nil }

var _ recipes.Contender = turnstile{}

// streamed plays a phase of three clients at a lock that each holds for 10 ms, so that it
// grants a hundred a second, on synctest's clock. It returns what that comes to, and how long
// it took.
func streamed(t *testing.T, p spec.Phase) (h *history.History, took time.Duration) {
	path := filepath.Join(t.TempDir(), "history.zst")
	synctest.Test(t, func(t *testing.T) {
		record, err := history.Create(path, history.Header{Trial: "t", Cell: history.Cell{Subject: "lock/turnstile", Clients: 3}})
		if err != nil {
			t.Fatal(err)
		}
		p.Name, p.Kind = "stream", "stream"
		st := &stage{scenario: &spec.Scenario{SessionTimeout: time.Minute, Phases: []spec.Phase{p}}, phase: p,
			clock: history.Start(), record: record, holder: newHolder()}
		st.tap = wire.New(st.clock.Now)
		st.faults = st.newFaults(t.Context(), nil, 0)
		record.Record(&history.PhaseStart{Name: p.Name, Kind: p.Kind, Pace: history.ByRate})
		_, over, end := st.timed(t.Context())
		due, stop := st.open(t.Context(), history.Acquire, over, func(ctx context.Context, c *client, due time.Duration) error {
			_, err := c.acquireDue(ctx, due, st.clock.Now())
			if err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
			return c.contender().Release(ctx)
		})
		lock := turnstile{make(chan bool, 1), new(atomic.Int64)}
		lock.free <- true
		start := time.Now()
		var clients sync.WaitGroup
		for i := range 3 {
			c := newClient(st, i)
			var subject recipes.Client = lock
			c.subject.Store(&subject)
			clients.Go(func() { c.attend(t.Context(), due) })
		}
		clients.Wait()
		took = time.Since(start)
		stop()
		end()
		record.Record(&history.PhaseEnd{At: st.clock.Now(), Name: p.Name, Stopped: time.Duration(st.stopped.Load())})
		if err := record.Close(); err != nil {
			t.Fatal(err)
		}
	})
	h, err := history.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return h, took
}

// About says whether a value is what it should be within 3 %.
func about(got, want float64) bool { return got > 0.97*want && got < 1.03*want }

// A hundred a second are kept up with, so that those due at 500 fall behind: each waits for
// longer than the one before, and what waits when the phase has been over for as long again is
// not called.
func TestStream_whatIsNotServedIsCounted(t *testing.T) {
	h, took := streamed(t, spec.Phase{Duration: 2 * time.Second, Rate: 500})
	m := report.Fold(h).Trial.Metrics
	if n := m[metrics.Unserved]; *n.Count != 1000 || !about(*n.Value, 600) {
		t.Errorf("%v of %d were not served, want 600 of 1000", *n.Value, *n.Count)
	}
	if !about(took.Seconds(), 4) {
		t.Errorf("it took %v, want twice its duration", took)
	}
	// The last that was served was due as the 400th, after 0.8 s, and granted after 4.
	if worst := *m[metrics.AcquireLatency].Max; !about(worst, 3.2e9) {
		t.Errorf("the slowest took %v from due, want 3.2 s", time.Duration(worst))
	}
}

// From 1.6 s on more than a hundred a second are due. Who is due at 4.43 s waits for 2 s, a
// fifth of the ramp, so that this ends at 6.43 s; what was due until then is served.
func TestStream_aRampEndsWhereItIsNotKeptUpWith(t *testing.T) {
	h, took := streamed(t, spec.Phase{Duration: 10 * time.Second, Rate: 20, RateTo: 520})
	folded := report.Fold(h)
	m := folded.Trial.Metrics
	if n := m[metrics.Unserved]; !about(float64(*n.Count), 1162) || *n.Value != 0 {
		t.Errorf("%v of %d were not served, want none of 1162", *n.Value, *n.Count)
	}
	if stopped := h.Phases[0].Stopped; !about(stopped.Seconds(), 6.43) || !about(took.Seconds(), 12.3) {
		t.Errorf("it ended after %v, and took %v; want 6.43 s, and 12.3", stopped, took)
	}
	if c := m[metrics.Capacity].Value; c == nil || !about(*c, 100) {
		t.Errorf("it keeps up with %v, want 100 a second", m[metrics.Capacity])
	}
	if len(folded.Trace.Ramps) != 1 || len(folded.Trace.Ramps[0].Points) == 0 {
		t.Errorf("%+v is to be drawn", folded.Trace.Ramps)
	}
}

func TestStream_everyItemArrives(t *testing.T) {
	trials := runTrials(t, `
name: stream
subjects: [queue/parent, queue/predecessor]
clients: [2]
session_timeout: 4s
phases:
  - {name: stream, kind: stream, duration: 6s, producers: 2, rate: 10, size: 300, hold: 0s}
`)
	for _, trial := range trials {
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

// TestStream_aSlowConsumerCannotHide: items are due every 50 ms, and one consumer
// needs 100 ms for each. So the n-th item is taken 50 ms later after its due time
// than the one before, which only who counts from due will see.
func TestStream_aSlowConsumerCannotHide(t *testing.T) {
	trials := runTrials(t, `
name: stream
subjects: [queue/predecessor]
clients: [1]
session_timeout: 4s
phases:
  - {name: stream, kind: stream, duration: 1s, producers: 1, rate: 20, hold: 100ms}
`)
	m := trials["stream-queue-predecessor-1"].Metrics[metrics.QueueLatency]
	if m.Max == nil || *m.Max < 19*50e6 {
		t.Errorf("the last item took %v, want at least 950 ms", m.Max)
	}
}

// TestStream_producersThatCannotKeepUp: what was due and never put is counted, and is no
// loss.
func TestStream_producersThatCannotKeepUp(t *testing.T) {
	trials := runTrials(t, `
name: stream
subjects: [queue/parent]
clients: [1]
session_timeout: 4s
phases:
  - {name: stream, kind: stream, duration: 100ms, producers: 1, rate: 50000, hold: 0s}
`)
	trial := trials["stream-queue-parent-1"]
	sound(t, trial)
	m := value(t, trial, metrics.QueueUndelivered)
	taken := *trial.Metrics[metrics.QueueLatency].Count
	if *m.Count != 5000 || *m.Value == 0 || int64(*m.Value)+taken != 5000 {
		t.Errorf("%d items were due, %v not delivered and %d taken; want 5000 in all, some of each", *m.Count, *m.Value, taken)
	}
}
