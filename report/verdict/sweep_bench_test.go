package verdict

import (
	"iter"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// churned is a correct lock under load, for so many operations: cycles of acquire,
// write and release, 2000 a second, by 100 clients. It is made while it is read, so
// that what a sweep keeps is all that is kept.
func churned(operations int) iter.Seq[history.Numbered] {
	return func(yield func(history.Numbered) bool) {
		opened := history.Session{Event: history.Opened, Client: 1, Session: 7, Timeout: 4 * time.Second}
		if !yield(history.Numbered{N: 1, Record: &opened}) {
			return
		}
		for i := range operations {
			at := time.Duration(i/3) * 500 * time.Microsecond
			s := history.Sample{Client: i / 3 % 100, Phase: "churn", Due: at, Outcome: history.OK, Token: int64(i/3 + 1), Session: 7, Path: "/n"}
			switch i % 3 {
			case 0:
				s.Op, s.Call, s.Return = history.Acquire, max(0, at-50*time.Millisecond), at+10_000
			case 1:
				s.Op, s.Call, s.Return, s.Version = history.Write, at+20_000, at+30_000, int64(i/3+1)
			case 2:
				s.Op, s.Call, s.Return = history.Release, at+40_000, at+90_000
			}
			if !yield(history.Numbered{N: i + 2, Record: &s}) {
				return
			}
		}
	}
}

// exchanged is a correct queue under load: puts and takes, 100 items in it.
func exchanged(operations int) iter.Seq[history.Numbered] {
	const depth = 100
	return func(yield func(history.Numbered) bool) {
		for i := range operations + depth {
			at := time.Duration(i) * 250 * time.Microsecond
			s := history.Sample{Client: i % 100, Phase: "exchange", Due: at, Call: at, Return: at + 100_000, Outcome: history.OK, Op: history.Put}
			n := i / 2
			if i%2 == 1 {
				s.Op, n = history.Take, n-depth
			}
			if n < 0 {
				continue
			}
			s.Item = strconv.Itoa(n%100) + "-" + strconv.Itoa(n)
			if !yield(history.Numbered{N: i + 1, Record: &s}) {
				return
			}
		}
	}
}

// kinds of load, by name.
var loads = []struct {
	name string
	of   func(operations int) iter.Seq[history.Numbered]
}{{"lock", churned}, {"queue", exchanged}}

// sweep judges a history as it comes, and hands every record to step.
func sweep(tb testing.TB, records iter.Seq[history.Numbered], step func(n int)) time.Duration {
	tb.Helper()
	start := time.Now()
	c := NewSweep(history.Of(history.Header{}))
	n := 0
	for r := range records {
		c.Add(r)
		n++
		step(n)
	}
	for _, v := range c.Close(nil) {
		if v.Result == Fail {
			tb.Fatal(v)
		}
	}
	return time.Since(start)
}

// BenchmarkJudge is all verdicts together, the making of the records included.
func BenchmarkJudge(b *testing.B) {
	const operations = 600_000
	for _, load := range loads {
		b.Run(load.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sweep(b, load.of(operations), func(int) {})
			}
			b.ReportMetric(operations*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}

// BenchmarkJudge_tenfold says how many times as long ten times the operations take.
func BenchmarkJudge_tenfold(b *testing.B) {
	const operations = 500_000
	for _, load := range loads {
		b.Run(load.name, func(b *testing.B) {
			var once, tenfold time.Duration
			for b.Loop() {
				once += sweep(b, load.of(operations), func(int) {})
				tenfold += sweep(b, load.of(10*operations), func(int) {})
			}
			b.ReportMetric(float64(tenfold)/float64(once), "times")
		})
	}
}

// BenchmarkJudge_memory is the most memory that the process has from the system while
// ten million operations are judged.
func BenchmarkJudge_memory(b *testing.B) {
	const operations = 10_000_000
	for _, load := range loads {
		b.Run(load.name, func(b *testing.B) {
			peak := uint64(0)
			for b.Loop() {
				debug.FreeOSMemory()
				sweep(b, load.of(operations), func(n int) {
					if n%100_000 == 0 {
						peak = max(peak, mapped())
					}
				})
			}
			b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
		})
	}
}

// mapped is the memory that the process has from the system now, in bytes.
func mapped() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// BenchmarkSweep is each checker alone: the tracking of beliefs and one verdict, over
// records that are there already. The verdicts on a queue's items share one sweep.
func BenchmarkSweep(b *testing.B) {
	const operations = 600_000
	for _, load := range loads {
		var records []history.Numbered
		for r := range load.of(operations) {
			records = append(records, r)
		}
		h := history.Of(history.Header{})
		for _, name := range sweepsOf[load.name] {
			b.Run(load.name+"/"+strings.Join(name, "+"), func(b *testing.B) {
				for b.Loop() {
					c := newSweep(h, func(g string) bool { return slices.Contains(name, g) })
					for _, r := range records {
						c.Add(r)
					}
					c.Close(nil)
				}
				b.ReportMetric(float64(len(records))*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			})
		}
	}
}

// sweepsOf are the verdicts that each kind of load has something for.
var sweepsOf = map[string][][]string{
	"lock":  {{MutualExclusion}, {Fencing}, {Progress}, {FIFO}, {ClaimValidity}, {NoOrphan}, {Succession}},
	"queue": {{NoPhantom, NoDuplicate, NoLoss}, {QueueFIFO}, {Progress}},
}
