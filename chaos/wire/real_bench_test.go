package wire_test

import (
	"io"
	"log"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

// BenchmarkZooKeeper compares exists, ZooKeeper's cheapest request, with and
// without the tap: go-zookeeper against a real server, in short blocks by
// turns. tap/bare compares the blocks at the quicker quartile; A/A, which
// compares bare connections with bare ones, is the noise.
func BenchmarkZooKeeper(b *testing.B) {
	const each = 4 // connections of a kind: the server binds each to one of its threads, and those differ
	addr := zooKeeper(b)
	start := time.Now()
	tap := wire.New(func() time.Duration { return time.Since(start) })
	defer tap.Close()
	var conns [3 * each]*zk.Conn
	for i := range conns {
		dial := net.DialTimeout
		if i%3 == 0 {
			dial = tap.Client(i).Dial
		}
		c, _, err := zk.Connect([]string{addr}, 4*time.Second, zk.WithDialer(dial), zk.WithLogger(log.New(io.Discard, "", 0)),
			zk.WithMaxBufferSize(1<<16), zk.WithMaxConnBufferSize(1<<16))
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
	}
	const block = 10
	ask := func(c *zk.Conn) float64 {
		begin := time.Now()
		for range block {
			if _, _, err := c.Exists("/zookeeper"); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(begin).Nanoseconds()) / block
	}
	for range 50 { // the JVM warms up
		for _, c := range conns {
			ask(c)
		}
	}
	var took [3][]float64
	for round := 0; b.Loop(); round++ {
		for turn := range conns {
			i := (round + turn) % len(conns)
			took[i%3] = append(took[i%3], ask(conns[i]))
		}
	}
	var quick [3]float64
	for i := range took {
		slices.Sort(took[i])
		quick[i] = took[i][len(took[i])/4]
	}
	b.ReportMetric(quick[0]/quick[1], "tap/bare")
	b.ReportMetric(quick[2]/quick[1], "A/A")
	b.ReportMetric(quick[1], "bare-ns/trip")
}
