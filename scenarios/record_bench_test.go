package scenarios

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"zkbench/recipes"
	"zkbench/report"
	"zkbench/report/history"
)

// BenchmarkRecord compares clients whose operations are recorded, to a file, with the
// same clients that record nothing: on/off is the ratio of their throughputs. In line
// at one lock is what a churn does; each at a lock of its own makes the most records
// that so many clients can. Every iteration is four blocks, A B B A, so that a machine
// that grows slower or faster favours neither; the ratio is the median over them.
//
//	go test ./scenarios -run '^$' -bench Record -benchtime 60x
func BenchmarkRecord(b *testing.B) {
	b.Run("line", func(b *testing.B) { benchmarkRecord(b, func(int) string { return "/record-line" }) })
	b.Run("apart", func(b *testing.B) {
		benchmarkRecord(b, func(i int) string { return fmt.Sprintf("/record-apart-%d", i) })
	})
}

func benchmarkRecord(b *testing.B, path func(client int) string) {
	const clients, block = 10, 500 * time.Millisecond
	locks := make([]*recipes.Lock, clients)
	for i := range locks {
		s, err := recipes.Open(b.Context(), ensemble.Servers(), recipes.Options{Timeout: 10 * time.Second})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		locks[i] = recipes.NewLock(s, path(i), recipes.Predecessor)
	}
	recordTurn(b, locks, 10*block, nil) // until the members' JVMs have compiled what they run
	var ratios []float64
	var records, ops int
	for i := 0; b.Loop(); i++ {
		var throughput [2]float64 // off, on
		for k, recorded := range []bool{false, true, true, false} {
			if i%2 == 1 {
				recorded = !recorded
			}
			if !recorded {
				n, _ := recordTurn(b, locks, block, nil)
				throughput[0] += n
				continue
			}
			w, err := history.Create(filepath.Join(b.TempDir(), fmt.Sprintf("%d-%d.jsonl.zst", i, k)), history.Header{Trial: "record", Clients: clients})
			if err != nil {
				b.Fatal(err)
			}
			n, done := recordTurn(b, locks, block, w)
			throughput[1] += n
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			records, ops = records+w.Stats().Records, ops+done
		}
		ratios = append(ratios, throughput[1]/throughput[0])
	}
	if records != ops {
		b.Fatalf("%d operations were recorded %d times", ops, records)
	}
	reportRatio(b, "on/off", ratios)
	b.ReportMetric(float64(records)/(float64(b.N)*2*block.Seconds()), "records/s")
	b.ReportMetric(0, "ns/op") // it is the length of the blocks
}

// recordTurn has every client acquire and release until the block is over, and returns the
// operations a second and how many there were. They go to w, unless it is nil.
func recordTurn(b *testing.B, locks []*recipes.Lock, block time.Duration, w *history.Writer) (perSecond float64, all int) {
	start := time.Now()
	var wg sync.WaitGroup
	counts := make([]int, len(locks))
	for i, l := range locks {
		wg.Go(func() {
			for time.Since(start) < block {
				if err := pass(b.Context(), i, l, start, w); err != nil {
					b.Error(err)
					return
				}
				counts[i] += 2
			}
		})
	}
	wg.Wait()
	for _, n := range counts {
		all += n
	}
	return float64(all) / time.Since(start).Seconds(), all
}

// pass acquires and releases once, as a client of the lab does.
func pass(ctx context.Context, client int, l *recipes.Lock, start time.Time, w *history.Writer) error {
	due := time.Since(start)
	g, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	s := history.Sample{Client: client, Phase: "churn", Op: history.Acquire, Due: due, Call: due, Return: time.Since(start),
		Outcome: history.OK, Token: g.Token, Session: g.SessionID, Path: g.Path}
	if w != nil {
		w.Sample(s)
	}
	due = time.Since(start)
	if err := g.Release(ctx); err != nil {
		return err
	}
	s.Op, s.Due, s.Call, s.Return = history.Release, due, due, time.Since(start)
	if w != nil {
		w.Sample(s)
	}
	return nil
}

// reportRatio reports the median of ratios, and its confidence interval where there are
// enough of them: without it nobody can tell a cost from the machine's weather.
func reportRatio(b *testing.B, name string, ratios []float64) {
	ratio := report.IntervalOf(ratios)
	b.ReportMetric(ratio.Center, name)
	if ratio.Low != nil {
		b.ReportMetric(*ratio.Low, name+"-low")
		b.ReportMetric(*ratio.High, name+"-high")
	}
}
