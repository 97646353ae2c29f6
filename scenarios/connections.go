package scenarios

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/history"
)

// connectionsEvery is how often the members are asked for their count of
// connections: what comes back is a rate a second, and asking costs them little.
const connectionsEvery = time.Second

// connectionsCounter is the members' own count of clients' handshakes (mntr,
// ZooKeeper 3.6 and later).
const connectionsCounter = "connection_request_count"

// connections counts how many connections clients make, by the members' own counters.
// After a heal this shows the storm of those who return. Until something goes wrong
// it asks nothing: a plan that waits must not cost what it is to be compared with.
type connections struct {
	st   *stage
	last []float64     // by member; -1 until it has answered
	at   time.Duration // of the last count; -1 before the first

	first sync.Once
	begun chan struct{} // closed when the first fault is injected
	done  chan struct{}
	end   context.CancelFunc
}

// countConnections reads the counters and waits for begin. It returns at once: what is
// measured does not wait for members' answers.
func (st *stage) countConnections(ctx context.Context) *connections {
	ctx, cancel := context.WithCancel(ctx)
	c := &connections{st: st, last: make([]float64, len(st.members.ensemble.Members)), at: -1,
		begun: make(chan struct{}), done: make(chan struct{}), end: cancel}
	for i := range c.last {
		c.last[i] = -1
	}
	go c.run(ctx)
	return c
}

// begin says that a fault is about to be injected.
func (c *connections) begin() {
	if c != nil {
		c.first.Do(func() { close(c.begun) })
	}
}

// stop ends the count, and returns when it has ended.
func (c *connections) stop() {
	if c != nil {
		c.end()
		<-c.done
	}
}

// run counts once a second from the first fault on. What came before it is a count
// of its own, so that the quiet time does not dilute the first second's rate.
func (c *connections) run(ctx context.Context) {
	defer close(c.done)
	c.count(ctx)
	select {
	case <-c.begun:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(connectionsEvery)
	defer ticker.Stop()
	for c.count(ctx); ; c.count(ctx) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// count asks every member, and records what has come since it was asked before.
func (c *connections) count(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectionsEvery/2)
	defer cancel()
	made, now := 0.0, c.st.clock.Now()
	members := c.st.members.ensemble.Members
	counted := make([]*float64, len(members)) // nil if a member does not answer
	var all sync.WaitGroup
	for i, m := range members { // side by side: a silent member must not keep the others from being asked
		all.Go(func() {
			if mntr, err := ensembles.Monitor(ctx, m); err == nil {
				if n, ok := mntr[connectionsCounter]; ok {
					counted[i] = &n
				}
			}
		})
	}
	all.Wait()
	for i, answer := range counted {
		if answer == nil {
			continue // isolated or down: it accepts no connection that could be missed, but for its last ones
		}
		n := *answer
		switch last := c.last[i]; {
		case last < 0: // what it counted before is not of this phase
		case n < last:
			made += n // it was started again
		default:
			made += n - last
		}
		c.last[i] = n
	}
	if c.at >= 0 {
		c.st.record.Record(&history.Connections{At: now, Phase: c.st.phase.Name, Made: int64(made), Over: now - c.at})
	}
	c.at = now
}
