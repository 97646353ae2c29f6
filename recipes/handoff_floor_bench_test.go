package recipes

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// handoffFloor is one bare delete of a node under parent and one bare list of the
// contested path.
func handoffFloor(b *testing.B, conn *zk.Conn, parent, contested string) (deleted, listed time.Duration) {
	node, err := conn.Create(parent+"/0123456789abcdef"+lockPrefix, nil, zk.FlagEphemeral|zk.FlagSequence, client.OpenACL)
	must(b, err)
	start := time.Now()
	must(b, conn.Delete(node, -1))
	deleted = time.Since(start)
	_, _, err = conn.Children(contested)
	must(b, err)
	return deleted, time.Since(start) - deleted
}

// BenchmarkHandoffOverFloor compares hand-offs, while nobody comes back, with what
// ZooKeeper takes for their requests alone: a delete and a list, or only the delete
// where the next was second in line when it last listed.
func BenchmarkHandoffOverFloor(b *testing.B) {
	for _, n := range []int{2, 10} {
		b.Run(fmt.Sprintf("contenders=%d", n), func(b *testing.B) {
			path := freshPath()
			all := ourContestants(b, n, path, allFirst)
			bare, parent := bareConn(b, servers), freshPath()
			_, err := bare.Create(parent, nil, 0, client.OpenACL)
			must(b, err)
			var handoffs, floors []time.Duration
			for b.Loop() {
				type granted struct {
					release func(context.Context) error
					at      time.Time
				}
				grants := make(chan granted, n)
				for _, acquire := range all {
					go func() {
						release, err := acquire(b.Context())
						if err != nil {
							b.Error(err)
						}
						grants <- granted{release, time.Now()}
					}()
				}
				now := <-grants
				awaitChildren(b, bare, path, n)
				for range n - 1 {
					deleted, listed := handoffFloor(b, bare, parent, path)
					called := time.Now()
					must(b, now.release(b.Context()))
					now = <-grants
					handoffs = append(handoffs, now.at.Sub(called))
					if n == 2 {
						listed = 0 // the re-list is skipped
					}
					floors = append(floors, deleted+listed)
				}
				must(b, now.release(b.Context()))
			}
			report(b, "handoff", handoffs, "floor", floors)
		})
	}
}

// awaitChildren returns when path has n children.
func awaitChildren(b *testing.B, conn *zk.Conn, path string, n int) {
	for {
		names, _, changed, err := conn.ChildrenW(path)
		must(b, err)
		if len(names) == n {
			return
		}
		<-changed
	}
}

// BenchmarkAcquireUncontended compares an acquire that nobody contests with the bare
// create that it cannot do without.
func BenchmarkAcquireUncontended(b *testing.B) {
	acquire := ourContestants(b, 1, freshPath(), allFirst)[0]
	bare, parent := bareConn(b, servers), freshPath()
	_, err := bare.Create(parent, nil, 0, client.OpenACL)
	must(b, err)
	var acquired, created []time.Duration
	for b.Loop() {
		start := time.Now()
		release, err := acquire(b.Context())
		must(b, err)
		acquired = append(acquired, time.Since(start))
		must(b, release(b.Context()))
		start = time.Now()
		node, err := bare.Create(parent+"/0123456789abcdef"+lockPrefix, nil, zk.FlagEphemeral|zk.FlagSequence, client.OpenACL)
		must(b, err)
		created = append(created, time.Since(start))
		must(b, bare.Delete(node, -1))
	}
	report(b, "acquire", acquired, "create", created)
}

// BenchmarkUncontended compares acquire and release of the recipes built from the lock with the plain
// lock's, that nobody contests, one after the other in each round.
func BenchmarkUncontended(b *testing.B) {
	names := []string{"lock/predecessor-plain", "rwlock/predecessor", "rwlock/parent", "semaphore/predecessor", "semaphore/parent"}
	took := make([][]time.Duration, len(names))
	var clients []Contender
	for _, name := range names {
		s, err := Find(name)
		must(b, err)
		c, err := s.Open(b.Context(), Env{Servers: servers, Parent: freshPath(), Timeout: 10 * time.Second, Dial: net.DialTimeout, Permits: 2})
		must(b, err)
		defer c.Close(b.Context())
		clients = append(clients, c.(Contender))
	}
	for round := 0; b.Loop(); round++ {
		for k := range clients {
			i := (k + round) % len(clients)
			start := time.Now()
			_, err := clients[i].Acquire(b.Context())
			must(b, err)
			must(b, clients[i].Release(b.Context()))
			took[i] = append(took[i], time.Since(start))
		}
	}
	for i, name := range names[1:] {
		b.ReportMetric(float64(median(took[i+1]))/float64(median(took[0])), strings.ReplaceAll(name, "/", "-")+"-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

func report(b *testing.B, nameA string, a []time.Duration, nameB string, other []time.Duration) {
	b.ReportMetric(float64(median(a))/1e6, nameA+"-p50-ms")
	b.ReportMetric(float64(median(other))/1e6, nameB+"-p50-ms")
	b.ReportMetric(float64(median(a))/float64(median(other)), "p50-ratio")
	b.ReportMetric(0, "ns/op")
}
