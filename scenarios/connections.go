package scenarios

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/history"
)

// connectionsEvery is the interval at which the members' count of connections is read. The
// result is a rate per second.
const connectionsEvery = time.Second

const connectionsCounter = "connection_request_count"

// connections counts new connections by the members' own counters. After a fault is healed it shows
// the load of reconnecting clients. It sends no requests before the first fault, so that they do
// not affect the measurement.
type connections struct {
	st   *stage
	last []float64     // by member; -1 before the first reply
	at   time.Duration // of the last count; -1 before the first

	first sync.Once
	begun chan struct{} // closed when the first fault is injected
	done  chan struct{}
	end   context.CancelFunc
}

// countConnections reads the counters and starts a goroutine that waits for begin. It returns at
// once.
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

func (c *connections) begin() {
	if c != nil {
		c.first.Do(func() { close(c.begun) })
	}
}

// stop ends the count and waits for its goroutine.
func (c *connections) stop() {
	if c != nil {
		c.end()
		<-c.done
	}
}

// run counts every second after the first fault. Earlier connections are a count of their own, so
// that they do not dilute the first rate.
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

// count reads every member's counter and records the difference from the last.
func (c *connections) count(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectionsEvery/2)
	defer cancel()
	made, now := 0.0, c.st.clock.Now()
	members := c.st.members.ensemble.Members
	counted := make([]*float64, len(members)) // nil for members that do not reply
	var all sync.WaitGroup
	for i, m := range members { // in parallel: a member that does not reply must not delay the others
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
			continue // isolated or stopped: it accepts no connections
		}
		n := *answer
		switch last := c.last[i]; {
		case last < 0: // counted before this phase
		case n < last:
			made += n
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
