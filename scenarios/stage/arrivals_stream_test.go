package stage

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/scenarios/spec"
)

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

func (l turnstile) Close(context.Context) error { return nil }

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
		st := &Stage{Scenario: &spec.Scenario{SessionTimeout: time.Minute, Phases: []spec.Phase{p}}, Phase: p,
			Clock: history.Start(), Record: record, Holder: NewHolder()}
		st.Tap = wire.New(st.Clock.Now)
		st.Faults = NewFaults(t.Context(), st, nil, 0)
		record.Record(&history.PhaseStart{Name: p.Name, Kind: p.Kind, Pace: history.ByRate})
		_, over, end := st.Timed(t.Context())
		due, stop := st.OpenArrivals(t.Context(), history.Acquire, over, func(ctx context.Context, c *Client, due time.Duration) error {
			_, err := c.AcquireDue(ctx, due, st.Clock.Now())
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
			c := NewClient(st, i)
			var subject recipes.Client = lock
			c.Subject.Store(&subject)
			clients.Go(func() { c.ServeArrivals(t.Context(), due) })
		}
		clients.Wait()
		took = time.Since(start)
		stop()
		end()
		record.Record(&history.PhaseEnd{At: st.Clock.Now(), Name: p.Name, Stopped: time.Duration(st.StoppedAt.Load())})
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
	m := report.EvaluateHistory(h).Trial.Metrics
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
	folded := report.EvaluateHistory(h)
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
