package second

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// contended is a correct lock with 50 clients that wait nearly all the time, granted in
// turn so many times. They are granted in the order of their calls, which is the first
// that the search tries; or, mixed, have called at any time since their last grant.
func contended(grants int, mixed bool) *history.History {
	const clients = 50
	random := rand.New(rand.NewPCG(1, 2))
	var records []history.Record
	for c := range clients {
		records = append(records, &history.Session{Event: history.Opened, Client: c, Session: int64(c + 1), Timeout: 4 * time.Second})
	}
	for i := range grants {
		at := time.Duration(i) * time.Millisecond
		c := i % clients
		waits := (clients - 1) * time.Millisecond
		if mixed {
			waits = time.Duration(random.Int64N(int64(waits)))
		}
		s := history.Sample{Client: c, Op: history.Acquire, Outcome: history.OK, Token: int64(i + 1), Session: int64(c + 1), Path: "/l/n",
			Call: max(0, at-waits), Return: at + 100*time.Microsecond}
		r := s
		r.Op, r.Call, r.Return = history.Release, at+800*time.Microsecond, at+900*time.Microsecond
		records = append(records, &s, &r)
	}
	return history.Of(history.Header{Trial: "contended", Cell: history.Cell{Subject: "lock/contended"}}, records...)
}

// BenchmarkSearch asks the search and the sweep the same about the same 10,000
// operations: search/sweep is how many times as long the search takes for mutual
// exclusion, search/all for one verdict where the sweeps give all of them.
func BenchmarkSearch(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		b.Run(fmt.Sprintf("mixed=%v", mixed), func(b *testing.B) {
			all, one := contended(5000, mixed), contended(5000, mixed)
			one.Header.Guarantees = []string{verdict.MutualExclusion}
			var searching, sweep, sweeps time.Duration
			for b.Loop() {
				start := time.Now()
				o := search(all, 0, time.Hour, excuse, 5000)
				searching += time.Since(start)
				if o.Operations != 10_000 || o.Result != verdict.Pass {
					b.Fatalf("%d operations: %s", o.Operations, o.Result)
				}
				sweep += judging(b, one)
				sweeps += judging(b, all)
			}
			b.ReportMetric(float64(searching)/float64(sweep), "search/sweep")
			b.ReportMetric(float64(searching)/float64(sweeps), "search/all")
			b.ReportMetric(float64(searching.Milliseconds())/float64(b.N), "search-ms")
			b.ReportMetric(float64(sweep.Microseconds())/float64(b.N), "sweep-µs")
		})
	}
}

// judging returns how long the sweeps take: the mean of some, for one is over before a
// clock says much.
func judging(b *testing.B, h *history.History) time.Duration {
	const times = 20
	start := time.Now()
	for range times {
		for _, v := range verdict.Judge(h) {
			if v.Result == verdict.Fail {
				b.Fatal(v)
			}
		}
	}
	return time.Since(start) / times
}
