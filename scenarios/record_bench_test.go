package scenarios

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/stage"
	"golang.org/x/perf/benchmath"
)

// BenchmarkRecord compares clients whose operations are recorded, to a file, with the
// same clients that record nothing: on/off is the ratio of their throughputs. In line
// at one lock is what a churn does; each at a lock of its own makes the most records
// that so many clients can. Every iteration is four blocks, A B B A, so that a machine
// that grows slower or faster favours neither; the ratio is the median over them.
//
// us-cpu/op is the processor time that recording adds to an operation, and machine-share
// what that is of all processors at this rate: what the ratio would be without the
// machine's noise, which is larger, lies that far below 1.
//
//	go test ./scenarios -run '^$' -bench Record -benchtime 120x
func BenchmarkRecord(b *testing.B) {
	b.Run("line", func(b *testing.B) { benchmarkRecord(b, func(int) string { return "/record-line" }) })
	b.Run("apart", func(b *testing.B) {
		benchmarkRecord(b, func(i int) string { return fmt.Sprintf("/record-apart-%d", i) })
	})
}

func benchmarkRecord(b *testing.B, path func(client int) string) {
	const clients, block = 10, 250 * time.Millisecond
	locks := make([]*recipes.Lock, clients)
	for i := range locks {
		s, err := recipes.Open(b.Context(), ensemble.Servers(), recipes.Options{Timeout: 10 * time.Second})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		locks[i] = recipes.NewLock(s, path(i), recipes.Predecessor)
	}
	recordTurn(b, locks, 20*block, nil) // until the members' JVMs have compiled what they run
	w, err := history.Create(filepath.Join(b.TempDir(), "record.jsonl.zst"), history.Header{Trial: "record", Cell: history.Cell{Clients: clients}})
	if err != nil {
		b.Fatal(err)
	}
	var ratios []float64
	var off, on blocks
	for i := 0; b.Loop(); i++ {
		var a, c blocks
		for _, recorded := range []bool{false, true, true, false} {
			if recorded == (i%2 == 0) {
				c.add(recordTurn(b, locks, block, w))
			} else {
				a.add(recordTurn(b, locks, block, nil))
			}
		}
		ratios = append(ratios, c.rate()/a.rate())
		off.add(a)
		on.add(c)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	if records := w.Stats().Records; records != on.ops {
		b.Fatalf("%d operations were recorded %d times", on.ops, records)
	}
	reportRatio(b, "on/off", ratios)
	cost := on.cpu/float64(on.ops) - off.cpu/float64(off.ops)
	b.ReportMetric(on.rate(), "records/s")
	b.ReportMetric(cost*1e6, "us-cpu/op")
	b.ReportMetric(cost*on.rate()/float64(runtime.NumCPU()), "machine-share")
	b.ReportMetric(0, "ns/op") // it is the length of the blocks
}

// blocks are what clients did in blocks of time.
type blocks struct {
	ops  int
	wall time.Duration
	cpu  float64 // processor time of this process, in seconds
}

func (t *blocks) add(x blocks) {
	t.ops, t.wall, t.cpu = t.ops+x.ops, t.wall+x.wall, t.cpu+x.cpu
}

// rate is operations a second.
func (t blocks) rate() float64 { return float64(t.ops) / t.wall.Seconds() }

// recordTurn has every client acquire and release until the block is over. The
// operations go to w, unless it is nil.
func recordTurn(b *testing.B, locks []*recipes.Lock, block time.Duration, w *history.Writer) blocks {
	start := time.Now()
	used, _ := ownCPU()
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
	t := blocks{wall: time.Since(start)}
	if w != nil { // what was recorded is written in its own block
		written := func(context.Context) (bool, error) { return w.Stats().Backlog == 0, w.Err() }
		if err := stage.Poll(b.Context(), time.Minute, written); err != nil {
			b.Error(err)
		}
	}
	after, _ := ownCPU()
	t.cpu = after - used
	for _, n := range counts {
		t.ops += n
	}
	return t
}

// pass acquires and releases once, as a client of a trial does.
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
// enough of them: without it nobody knows a cost from the machine's noise.
func reportRatio(b *testing.B, name string, ratios []float64) {
	ratio := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios, &benchmath.DefaultThresholds), 0.95)
	b.ReportMetric(ratio.Center, name)
	if !math.IsInf(ratio.Lo, 0) {
		b.ReportMetric(ratio.Lo, name+"-low")
		b.ReportMetric(ratio.Hi, name+"-high")
	}
}
