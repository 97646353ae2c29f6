package scenarios

import (
	"context"
	"time"

	"zkbench/ensembles"
	"zkbench/report/history"
)

// connectionsEvery is how often the members are asked for their count of
// connections: what comes back is a rate a second, and asking costs them little.
const connectionsEvery = time.Second

// connectionsCounter is the members' own count of clients' handshakes (mntr,
// ZooKeeper 3.6 and later).
const connectionsCounter = "connection_request_count"

// countConnections records how many connections clients made, by the members' own
// counters, until stopped. After a heal this shows the storm of those who return.
func (t *trial) countConnections(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := connections{t: t, last: make([]float64, len(t.lab.Ensemble.Members)), at: -1}
		ticker := time.NewTicker(connectionsEvery)
		defer ticker.Stop()
		for c.count(ctx); ; c.count(ctx) {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// connections is the count so far.
type connections struct {
	t    *trial
	last []float64     // by member; -1 while it does not answer
	at   time.Duration // of the last count; -1 before the first
}

// count asks every member, and records what has come since it was asked before.
func (c *connections) count(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectionsEvery/2)
	defer cancel()
	made, now := 0.0, c.t.clock.Now()
	for i, m := range c.t.lab.Ensemble.Members {
		mntr, err := ensembles.Monitor(ctx, m.Addr)
		n, ok := mntr[connectionsCounter]
		if err != nil || !ok {
			continue // cut off, or down: it takes no connection that we could miss, but for its last ones
		}
		if n < c.last[i] {
			c.last[i] = 0 // it was started again
		}
		if c.at >= 0 {
			made += n - c.last[i]
		}
		c.last[i] = n
	}
	if c.at >= 0 {
		c.t.note(history.Note{Kind: history.Connections, Client: -1, Counts: map[string]int64{
			history.CountMade: int64(made), history.CountOver: int64(now - c.at),
		}})
	}
	c.at = now
}
