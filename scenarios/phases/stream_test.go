package phases

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// stalling is a queue that serves one request after the other, each in cost, and that
// stands still from one moment to another.
type stalling struct {
	items    chan []byte
	cost     time.Duration
	from, to time.Time
}

func (q *stalling) Put(ctx context.Context, item []byte) error {
	time.Sleep(q.cost)
	if now := time.Now(); now.After(q.from) && now.Before(q.to) {
		time.Sleep(q.to.Sub(now))
	}
	q.items <- item
	return nil
}

func (q *stalling) Take(ctx context.Context) ([]byte, error) {
	select {
	case item := <-q.items:
		return item, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *stalling) Close(context.Context) error { return nil }

var _ recipes.QueueClient = (*stalling)(nil)

// A second in which nothing moves, in ten seconds at a hundred items a second, delays
// a tenth of them. The harness's own producers and consumers, clock, record and folding
// must show that; the clock is synctest's, so that the right answer is known exactly.
func TestStream_aStallCannotHide(t *testing.T) {
	const (
		rate   = 100
		length = 10 * time.Second
		stall  = time.Second
		cost   = time.Millisecond
	)
	path := filepath.Join(t.TempDir(), "history.zst")
	synctest.Test(t, func(t *testing.T) {
		record, err := history.Create(path, history.Header{Trial: "stall", Cell: history.Cell{Subject: "queue/stalling", Clients: 1}})
		if err != nil {
			t.Fatal(err)
		}
		phase := spec.Phase{Name: "stream", Kind: "stream", Duration: length, Producers: 1, Rate: rate}
		st := &stage.Stage{
			Scenario: &spec.Scenario{SessionTimeout: time.Minute, Phases: []spec.Phase{phase}}, Phase: phase,
			Clock: history.Start(), Record: record, Holder: stage.NewHolder(),
		}
		st.Tap = wire.New(st.Clock.Now)
		start := time.Now()
		var q recipes.Client = &stalling{items: make(chan []byte, rate), cost: cost, from: start.Add(5 * time.Second), to: start.Add(5*time.Second + stall)}
		producer, consumer := stage.NewClient(st, 0), stage.NewClient(st, 1)
		producer.Subject.Store(&q)
		consumer.Subject.Store(&q)
		ctx, cancel := context.WithCancel(t.Context())
		record.Record(&history.PhaseStart{Name: phase.Name, Kind: phase.Kind, Pace: history.ByRate})
		consumed := make(chan bool)
		go func() { consumer.ConsumeSlowly(ctx); close(consumed) }()
		due, stop := st.OpenArrivals(ctx, history.Put, func() {}, putDue)
		producer.ServeArrivals(ctx, due)
		stop()
		synctest.Wait()
		cancel()
		<-consumed
		record.Record(&history.PhaseEnd{At: st.Clock.Now(), Name: phase.Name})
		if err := record.Close(); err != nil {
			t.Fatal(err)
		}
	})
	h, err := history.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	m := report.EvaluateHistory(h).Trial.Metrics
	got := m[metrics.QueueLatency]
	if got.Count == nil || *got.Count != rate*int64(length/time.Second) {
		t.Fatalf("%+v: want every item that was due", got)
	}
	// The k-th item that is due in the stall is due k intervals after it began, and is
	// served as the k-th after it: the last 1 % of 1000 begin with the 10th worst.
	interval := time.Second / rate
	want := float64(stall + cost - 10*(interval-cost))
	if *got.P99 < 0.98*want || *got.P99 > 1.02*want {
		t.Errorf("p99 %v, want %v within 2 %%", time.Duration(*got.P99), time.Duration(want))
	}
	if math.Abs(*got.Max-float64(stall+cost)) > 0.02*float64(stall) {
		t.Errorf("max %v, want the whole stall", time.Duration(*got.Max))
	}
}
