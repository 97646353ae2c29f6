package verdict

import (
	"fmt"
	"iter"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// churned is a correct lock under load, for so many operations: cycles of acquire,
// write and release, 2000 a second, by 100 clients. It is made while it is read, so
// that what a sweep keeps is all that is kept.
func churned(operations int) iter.Seq[history.Numbered] {
	return func(yield func(history.Numbered) bool) {
		const clients = 100
		for c := range clients {
			opened := history.Session{Event: history.Opened, Client: c, Session: int64(c + 1), Timeout: 4 * time.Second}
			if !yield(history.Numbered{N: c + 1, Record: &opened}) {
				return
			}
		}
		for i := range operations {
			at := time.Duration(i/3) * 500 * time.Microsecond
			s := history.Sample{Client: i / 3 % clients, Phase: "churn", Due: at, Outcome: history.OK, Token: int64(i/3 + 1), Session: int64(i/3%clients + 1), Path: "/n"}
			switch i % 3 {
			case 0:
				s.Op, s.Call, s.Return = history.Acquire, max(0, at-50*time.Millisecond), at+10_000
			case 1:
				s.Op, s.Call, s.Return, s.Version = history.Write, at+20_000, at+30_000, int64(i/3+1)
			case 2:
				s.Op, s.Call, s.Return = history.Release, at+40_000, at+90_000
			}
			if !yield(history.Numbered{N: clients + i + 1, Record: &s}) {
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

// queued is churned with the servers' commits among the records: each client stands in
// line again as soon as it has released, so that as many nodes stand as there are clients.
func queued(operations int) iter.Seq[history.Numbered] {
	return func(yield func(history.Numbered) bool) {
		const clients = 100
		var line []history.Commit // that created the nodes that stand
		zxid := int64(0)
		commit := func(c history.Commit) (history.Commit, bool) {
			zxid++
			c.Zxid, c.Cxid = zxid, int32(zxid)
			return c, yield(history.Numbered{Record: &c})
		}
		join := func(session int64) bool {
			c, more := commit(history.Commit{Session: session, Op: history.CommitCreate, Ephemeral: true,
				Path: "/zkbench/churn/line/0123456789abcdef-lock-" + strconv.FormatInt(1_000_000_000+zxid, 10)})
			line = append(line, c)
			return more
		}
		removed := ""
		for n := range churned(operations) {
			s, ok := n.Record.(*history.Sample)
			for ok && len(line) < clients {
				if !join(int64(len(line) + 1)) {
					return
				}
			}
			more := true
			switch {
			case !ok:
			case s.Op == history.Acquire:
				s.Removed, s.Zxid = removed, zxid
			case s.Op == history.Write:
				_, more = commit(history.Commit{Op: history.CommitSet, Path: "/zkbench/churn/resource"})
				s.Zxid = zxid
			case s.Op == history.Release:
				removed = line[0].Path
				_, more = commit(history.Commit{Session: s.Session, Op: history.CommitDelete, Path: removed})
				s.Zxid = zxid
			}
			if ok {
				s.Path, s.Token = line[0].Path, line[0].Zxid
			}
			if !more || !yield(n) {
				return
			}
			if ok && s.Op == history.Release {
				if line = line[1:]; !join(s.Session) {
					return
				}
			}
		}
		yield(history.Numbered{Record: &history.CommitsEnd{Last: zxid}})
	}
}

// passing is exchanged with the servers' commits among the records: a create for each
// put, a delete for each take.
func passing(operations int) iter.Seq[history.Numbered] {
	return func(yield func(history.Numbered) bool) {
		nodes := map[string]string{}
		zxid := int64(0)
		for n := range exchanged(operations) {
			s := n.Record.(*history.Sample)
			zxid++
			c := history.Commit{Zxid: zxid, Session: int64(s.Client), Cxid: int32(zxid), Op: history.CommitDelete}
			if s.Op == history.Put {
				c.Op, c.Item = history.CommitCreate, s.Item
				nodes[s.Item] = "/q/0123456789abcdef-qn-" + strconv.FormatInt(zxid, 10)
			}
			c.Path, s.Zxid = nodes[s.Item], zxid
			if s.Op == history.Take {
				delete(nodes, s.Item)
			}
			if !yield(history.Numbered{Record: &c}) || !yield(n) {
				return
			}
		}
		yield(history.Numbered{Record: &history.CommitsEnd{Last: zxid}})
	}
}

// kinds of load, by name.
var loads = []load{
	{"lock", Lock, churned, false}, {"queue", Queue, exchanged, false},
	{"lock-commits", Lock, queued, true}, {"queue-commits", Queue, passing, true},
}

type load struct {
	name    string
	recipe  string
	of      func(operations int) iter.Seq[history.Numbered]
	commits bool // there are commits among the records
}

// sweep judges a history as it comes, and hands every record to step.
func sweep(tb testing.TB, l load, operations int, step func(n int)) {
	tb.Helper()
	h := history.Of(history.Header{Recipe: l.recipe, Promises: history.Promises{Exclusive: true, FIFO: true, Delivery: facts.ExactlyOnce, Deadline: true, Events: true}})
	h.HasCommits, h.Timeout = l.commits, 4*time.Second
	c := NewSweep(h)
	n := 0
	for r := range l.of(operations) {
		c.Add(r)
		n++
		step(n)
	}
	for _, v := range c.Close(nil) {
		if v.Result == Fail {
			tb.Fatal(v)
		}
	}
}

// BenchmarkJudge is all verdicts together, the making of the records included, and the most memory
// that the process has from the system meanwhile. Where there are commits, they are records, too: about
// as many as there are operations. The rate and the memory should be the same for any number of operations.
func BenchmarkJudge(b *testing.B) {
	for _, load := range loads {
		for _, operations := range []int{600_000, 10_000_000} {
			b.Run(fmt.Sprintf("%s/%d", load.name, operations), func(b *testing.B) {
				b.ReportAllocs()
				records, peak := 0, uint64(0)
				for b.Loop() {
					debug.FreeOSMemory()
					sweep(b, load, operations, func(n int) {
						if records = n; n%100_000 == 0 {
							peak = max(peak, mapped())
						}
					})
				}
				b.ReportMetric(float64(operations)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
				b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
				b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
			})
		}
	}
}

// mapped is the memory that the process has from the system now, in bytes.
func mapped() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
