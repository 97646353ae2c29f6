package recipes

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// The benchmarks run both sides in turns within one run and report the ratio of
// their medians over all samples: on a machine that others use as well nothing else
// is comparable, and the medians of single blocks swing by several per cent.
//
//	go test ./recipes -run '^$' -bench Handoff -benchtime 20x
//
// One iteration is one block of each side.

// contestant acquires, and returns what releases.
type contestant func(ctx context.Context) (release func(context.Context) error, err error)

// inOrder returns the servers, rotated so that the i-th client starts with another
// one than its neighbours.
func inOrder(i int) []string {
	i %= len(servers)
	return append(slices.Clone(servers[i:]), servers[:i]...)
}

// allFirst returns the servers as they are, whoever asks.
func allFirst(int) []string { return servers }

// ourContestants opens n sessions that contend for the lock at path.
func ourContestants(b *testing.B, n int, path string, order func(i int) []string) []contestant {
	out := make([]contestant, n)
	for i := range out {
		s, err := Open(b.Context(), order(i), Options{Timeout: 10 * time.Second})
		must(b, err)
		b.Cleanup(func() { s.Close() })
		l := NewLock(s, path, Predecessor)
		out[i] = func(ctx context.Context) (func(context.Context) error, error) {
			g, err := l.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			return g.Release, nil
		}
	}
	return out
}

// theirContestants opens n connections that contend for one zk.Lock: the bare
// lock, without what our adapter adds.
func theirContestants(b *testing.B, n int) []contestant {
	path := freshPath()
	out := make([]contestant, n)
	for i := range out {
		conn := bareConn(b, inOrder(i))
		l := zk.NewLock(conn, path, client.OpenACL)
		out[i] = func(context.Context) (func(context.Context) error, error) {
			if err := l.Lock(); err != nil {
				return nil, err
			}
			return func(context.Context) error { return l.Unlock() }, nil
		}
	}
	return out
}

// bareConn is go-zookeeper's connection with buffers of the size of ours, to the
// first of the servers: left to itself the library takes any, and followers answer
// writes later than the leader.
func bareConn(b *testing.B, servers []string) *zk.Conn {
	conn, _, err := client.Connect(client.Options{
		Servers: servers[:1], Timeout: 10 * time.Second, Dial: net.DialTimeout, MaxPacket: 64 << 10,
	}, nil)
	must(b, err)
	b.Cleanup(conn.Close)
	return conn
}

// contend has everybody acquire and release until there were k hand-offs, and
// returns how long each took, and how long all of them.
func contend(b *testing.B, all []contestant, k int) (each []time.Duration, total time.Duration) {
	start := time.Now()
	var released atomic.Int64 // when release was called, since start; 0 before the first
	var handoffs []time.Duration
	var done atomic.Bool
	var end time.Duration
	var wg sync.WaitGroup
	for _, acquire := range all {
		wg.Go(func() {
			for !done.Load() {
				release, err := acquire(b.Context())
				now := time.Since(start)
				if err != nil {
					b.Error(err)
					done.Store(true)
					return
				}
				// Only the holder gets here.
				if at := released.Load(); at != 0 && !done.Load() {
					handoffs = append(handoffs, now-time.Duration(at))
					if len(handoffs) == k {
						end = now
						done.Store(true)
					}
				}
				released.Store(int64(time.Since(start)))
				if err := release(b.Context()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return handoffs, end
}

func median[T ~int64 | ~float64](all []T) T {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkHandoff compares lock/predecessor with go-zookeeper's zk.Lock while
// everybody contends all the time.
func BenchmarkHandoff(b *testing.B) {
	for _, n := range []int{10, 50, 200} {
		b.Run(fmt.Sprintf("contenders=%d", n), func(b *testing.B) {
			const k = 200
			sides := [2][]contestant{ourContestants(b, n, freshPath(), inOrder), theirContestants(b, n)}
			var pool [2][]time.Duration
			var perSecond, cpu [2][]float64 // of each block
			for _, side := range sides {
				contend(b, side, k) // warm up
			}
			for i := 0; b.Loop(); i++ {
				for j := range 2 {
					side := (i + j) % 2
					before := cpuTime(b)
					each, total := contend(b, sides[side], k)
					cpu[side] = append(cpu[side], float64(cpuTime(b)-before))
					pool[side] = append(pool[side], each...)
					perSecond[side] = append(perSecond[side], k/total.Seconds())
				}
			}
			ours, theirs := float64(median(pool[0])), float64(median(pool[1]))
			b.ReportMetric(ours/1e6, "ours-p50-ms")
			b.ReportMetric(theirs/1e6, "theirs-p50-ms")
			b.ReportMetric(ours/theirs, "p50-ratio")
			b.ReportMetric(median(perSecond[0])/median(perSecond[1]), "throughput-ratio")
			b.ReportMetric(median(cpu[0])/median(cpu[1]), "cpu-ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuTime returns the processor time that this process has used, without the
// members'. It is far less noisy than the clock.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
