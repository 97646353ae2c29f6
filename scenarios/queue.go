package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// backlog is room for the names of the items that wait, when producers are faster
// than consumers: some 40 bytes a name.
const backlog = 512 << 10

// packet is the largest request or reply that a client must be ready for, in bytes.
func (t *trial) packet() int {
	n := packetSize(t.cell.Clients)
	if !t.queue() {
		return n
	}
	size := 0
	for _, p := range t.scenario.Phases {
		size = max(size, p.Size)
		if p.Kind == Stream {
			n = max(n, backlog)
		}
	}
	return min(1<<20, n+size)
}

// hire opens producers until there are n. Their numbers follow those of the clients.
func (t *trial) hire(ctx context.Context, n int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for len(t.producers) < n {
		p := newClient(t, t.cell.Clients+len(t.producers))
		t.producers = append(t.producers, p)
		g.Go(func() error { return p.open(ctx) })
	}
	return g.Wait()
}

// dismiss closes the producers' sessions.
func (t *trial) dismiss() {
	for _, p := range t.producers {
		p.close()
	}
	t.producers = nil
}

func (c *client) queue() recipes.QueueClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subject.(recipes.QueueClient)
}

// itemID names an item: unique in the trial, and short, because many are empty else.
func (t *trial) itemID(producer int) string {
	return fmt.Sprintf("%d-%d", producer, t.items.Add(1))
}

// fill makes an item of that identity, padded to size bytes.
func fill(id string, size int) []byte {
	item := append([]byte(id), '\n')
	if len(item) < size {
		item = append(item, make([]byte, size-len(item))...)
	}
	return item
}

// identity reads the identity back. Of what the lab did not put it is the beginning.
func identity(item []byte) string {
	id, _, _ := bytes.Cut(item, []byte("\n"))
	return string(id[:min(len(id), 64)])
}

// put puts an item that was due at due. It is not given up when ctx ends: an item of
// which nobody knows whether it is there would spoil the count.
func (c *client) put(ctx context.Context, id string, due time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.t.scenario.SessionTimeout+5*time.Second)
	defer cancel()
	call := c.t.clock.Now()
	err := c.queue().Put(ctx, fill(id, c.t.phase.Size))
	s := c.sample(history.Put, due, err)
	s.Call, s.Item = call, id
	c.t.record.Sample(s)
	return err
}

// take waits for an item and returns its identity.
func (c *client) take(ctx context.Context) (string, error) {
	call := c.t.clock.Now()
	c.begin(call)
	moments := c.t.moments.Load()
	moments.acquiring()
	item, err := c.queue().Take(ctx)
	moments.acquired(c.n, err == nil)
	c.busy.Store(0)
	s := c.sample(history.Take, call, err)
	if item != nil {
		s.Item = identity(item)
	}
	c.t.record.Sample(s)
	if err == nil {
		c.t.grants.Add(1)
	}
	return s.Item, err
}

// mend brings the client back after an error: with a new session where the old one
// has ended, else after a moment, so that it does not spin where every call fails.
func (c *client) mend(ctx context.Context, err error) {
	if errors.Is(err, recipes.ErrSessionEnded) {
		_ = c.reopen(ctx) // its error is that ctx is done, which the caller sees
		return
	}
	select {
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
	}
}

// consume takes items until ctx is done, and spends the phase's hold time on each.
func (c *client) consume(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := c.take(ctx); err != nil {
			c.mend(ctx, err)
			continue
		}
		c.pause(ctx)
	}
}

// pause spends the phase's hold time.
func (c *client) pause(ctx context.Context) {
	if c.t.phase.Hold <= 0 {
		return
	}
	select {
	case <-time.After(c.t.phase.Hold):
	case <-ctx.Done():
	}
}

// emptied waits until no member has an item any more and no request is under way,
// while consumers go on taking, and records that. When nothing has been taken for a
// while it gives up, and records what stands in the queue and who waits: what is
// missing is then unknown, and whether somebody should have taken it is for the
// verdicts to say. No put may begin after it was called, but by those who are putting.
func (t *trial) emptied(ctx context.Context) error {
	last, since := t.grants.Load(), time.Now()
	for {
		err := poll(ctx, time.Second, func(ctx context.Context) (bool, error) {
			_, most, err := t.harness.children(ctx, t.parent, sequential)
			return err == nil && most == 0 && t.putting.Load() == 0 && t.tap.Totals().InFlight == 0, nil // a member may still be recovering
		})
		switch now := t.grants.Load(); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			t.record.Record(&history.Emptied{At: t.clock.Now(), Phase: t.phase.Name})
			return nil
		case now != last:
			last, since = now, time.Now()
		case time.Since(since) > t.patience():
			return t.lookStuck(ctx)
		}
	}
}

// lookStuck looks at a queue in which nothing moves. What cannot be seen, because the
// ensemble does not answer, proves nothing.
func (t *trial) lookStuck(ctx context.Context) error {
	_, _ = t.look(ctx, stuckLook)
	return ctx.Err()
}

// exchange is the churn of a queue, a closed loop: each client puts an item and takes
// one, again and again, for the phase's duration, while the phase's faults strike.
// There are never more items than clients.
func (t *trial) exchange(ctx context.Context) error {
	phase, cancel := context.WithTimeout(ctx, t.phase.Duration)
	defer cancel()
	taking, stop := context.WithCancel(ctx)
	defer stop()
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	for _, c := range t.clients {
		clients.Go(func() { c.exchange(phase, taking) })
	}
	ticked := t.tick(phase)
	struck := t.strike(phase)
	<-phase.Done()
	ticked()
	return errors.Join(t.emptied(ctx), struck)
}

// exchange is the life of one client in a closed loop: it puts while the phase lasts,
// and takes until taking is done.
func (c *client) exchange(phase, taking context.Context) {
	for phase.Err() == nil {
		err := c.exchangePut(phase)
		if err == nil { // else there may be nothing to take, and everybody could come to wait
			_, err = c.take(taking)
		}
		if err != nil {
			c.mend(taking, err) // not phase: without a session it could not take what is left
			continue
		}
		c.pause(phase)
	}
	c.consume(taking)
}

// exchangePut puts an item unless the phase is over. It counts as putting from before
// it looks: whoever sees the phase over and nobody putting has seen the last put.
func (c *client) exchangePut(phase context.Context) error {
	c.t.putting.Add(1)
	defer c.t.putting.Add(-1)
	if phase.Err() != nil {
		return phase.Err()
	}
	return c.put(phase, c.t.itemID(c.n), c.t.clock.Now())
}
