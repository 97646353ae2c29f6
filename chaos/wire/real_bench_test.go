package wire_test

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

// BenchmarkZooKeeper compares exists, ZooKeeper's cheapest request, with and
// without the tap: go-zookeeper against a real server, in short blocks by
// turns. tap/bare compares the blocks at the quicker quartile, listen/bare those of
// connections through a listener; A/A, which compares bare connections with bare ones,
// is the noise.
func BenchmarkZooKeeper(b *testing.B) {
	const each = 4 // connections of a kind: the server binds each to one of its threads, and those differ
	addr := zooKeeper(b)
	start := time.Now()
	tap := wire.New(func() time.Duration { return time.Since(start) })
	defer tap.Close()
	const kinds = 4
	var conns [kinds * each]*zk.Conn
	for i := range conns {
		dial, to := net.DialTimeout, addr
		switch i % kinds {
		case 0:
			dial = tap.Client(i).Dial
		case 3:
			to, _ = tap.Client(i).Listen(addr, nil)
		}
		c, _, err := zk.Connect([]string{to}, 4*time.Second, zk.WithDialer(dial), zk.WithLogger(quiet),
			zk.WithMaxBufferSize(1<<16), zk.WithMaxConnBufferSize(1<<16))
		must(b, err)
		defer c.Close()
		conns[i] = c
	}
	const block = 10
	ask := func(c *zk.Conn) float64 {
		begin := time.Now()
		for range block {
			_, _, err := c.Exists("/zookeeper")
			must(b, err)
		}
		return float64(time.Since(begin).Nanoseconds()) / block
	}
	for range 50 { // the JVM warms up
		for _, c := range conns {
			ask(c)
		}
	}
	var took [kinds][]float64
	for round := 0; b.Loop(); round++ {
		for turn := range conns {
			i := (round + turn) % len(conns)
			took[i%kinds] = append(took[i%kinds], ask(conns[i]))
		}
	}
	var quick [kinds]float64
	for i := range took {
		slices.Sort(took[i])
		quick[i] = took[i][len(took[i])/4]
	}
	b.ReportMetric(quick[0]/quick[1], "tap/bare")
	b.ReportMetric(quick[3]/quick[1], "listen/bare")
	b.ReportMetric((quick[3]-quick[1])/1000, "listen-us/trip")
	b.ReportMetric(quick[2]/quick[1], "A/A")
	b.ReportMetric(quick[1], "bare-ns/trip")
}
