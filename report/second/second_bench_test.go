package second

import (
	"testing"
	"time"

	"zkbench/report/history"
	"zkbench/report/verdict"
)

// contended is a correct lock with 50 clients that all wait all the time, granted in
// turn so many times.
func contended(grants int) *history.History {
	const clients = 50
	var records []history.Record
	for c := range clients {
		n := history.Note{Kind: history.Opened, Client: c, Session: int64(c + 1), Timeout: 4 * time.Second}
		records = append(records, history.Record{Note: &n})
	}
	for i := range grants {
		at := time.Duration(i) * time.Millisecond
		c := i % clients
		s := history.Sample{Client: c, Op: history.Acquire, Outcome: history.OK, Token: int64(i + 1), Session: int64(c + 1), Path: "/l/n",
			Call: max(0, at-(clients-1)*time.Millisecond), Return: at + 100*time.Microsecond}
		r := s
		r.Op, r.Call, r.Return = history.Release, at+800*time.Microsecond, at+900*time.Microsecond
		records = append(records, history.Record{Sample: &s}, history.Record{Sample: &r})
	}
	return history.Of(history.Header{Trial: "contended", Subject: "lock/contended"}, records...)
}

// BenchmarkSearch asks the search and the sweep about the same 10,000 operations:
// search/sweep is how many times as long the search takes. The sweep gives all
// verdicts, the search one.
func BenchmarkSearch(b *testing.B) {
	h := contended(5000)
	var search, sweep time.Duration
	for b.Loop() {
		start := time.Now()
		o := ask(h, 0, time.Hour, excuse, 5000)
		search += time.Since(start)
		if o.Operations != 10_000 || o.Result != verdict.Pass {
			b.Fatalf("%d operations: %s", o.Operations, o.Result)
		}
		// The sweep is over before a clock says much: the mean of some.
		const times = 20
		start = time.Now()
		for range times {
			if got := verdict.Worst(verdict.Judge(h)); got == verdict.Fail {
				b.Fatal(got)
			}
		}
		sweep += time.Since(start) / times
	}
	b.ReportMetric(float64(search)/float64(sweep), "search/sweep")
	b.ReportMetric(float64(search.Milliseconds())/float64(b.N), "search-ms")
	b.ReportMetric(float64(sweep.Microseconds())/float64(b.N), "sweep-µs")
}
