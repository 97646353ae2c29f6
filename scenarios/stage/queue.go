package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func (c *Client) queue() recipes.QueueClient { return c.subjectClient().(recipes.QueueClient) }

// ItemID returns the ID of a new item, unique in the trial. producer is the number of the client that puts it.
func (st *Stage) ItemID(producer int) string {
	return fmt.Sprintf("%d-%d", producer, st.items.Add(1))
}

// fill returns an item with that ID, padded with dots to size bytes: items of drivers are printable ASCII.
func fill(id string, size int) []byte {
	return append([]byte(id), bytes.Repeat([]byte("."), max(0, size-len(id)))...)
}

// ItemIDOf returns the ID of an item; for an item that the harness did not put, the beginning of its data.
func ItemIDOf(item []byte) string {
	return string(bytes.TrimRight(item[:min(len(item), 64)], "."))
}

// Put puts an item that was due at due. It does not end early with ctx: it would then be unknown whether
// the item was stored.
func (c *Client) Put(ctx context.Context, id string, due time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Stage.Scenario.SessionTimeout+5*time.Second)
	defer cancel()
	c.Stage.outstanding.Put(id)
	call := c.Stage.Clock.Now()
	err := c.do(operation{op: history.Put, calledAt: call}, func() error { return c.queue().Put(ctx, fill(id, c.Stage.Phase.Size)) })
	s := c.sample(history.Put, due, err)
	s.Call, s.Item = call, id
	if s.Outcome == history.Failed {
		c.Stage.outstanding.Taken(id)
	}
	c.useReportedTimes(&s)
	c.Stage.Record.Sample(s)
	return err
}

// PutNext puts an item that is due now, and returns its new ID, also with an error.
func (c *Client) PutNext(ctx context.Context) (id string, err error) {
	id = c.Stage.ItemID(c.Number)
	return id, c.Put(ctx, id, c.Stage.Clock.Now())
}

func (c *Client) take(ctx context.Context) (id string, err error) {
	call := c.Stage.Clock.Now()
	var item []byte
	err = c.track(operation{op: history.Take, calledAt: call}, func() error { item, err = c.queue().Take(ctx); return err })
	s := c.sample(history.Take, call, err)
	if item != nil {
		s.Item = ItemIDOf(item)
		c.Stage.outstanding.Taken(s.Item)
	}
	c.useReportedTimes(&s)
	c.Stage.Record.Sample(s)
	if err == nil {
		c.Stage.Grants.Add(1)
		c.Transitions.Add(1)
	}
	return s.Item, err
}

// RecoverAfter waits after an error, so that a client whose calls all fail does not use a processor. If the
// session has ended, it opens a new one.
func (c *Client) RecoverAfter(ctx context.Context, err error) {
	if errors.Is(err, recipes.ErrSessionEnded) {
		_ = c.Reopen(ctx) // fails only if ctx is done
		return
	}
	c.backOff(ctx)
}

// Consume takes items until ctx is done, and calls taken with the ID of each.
func (c *Client) Consume(ctx context.Context, taken func(id string)) {
	for ctx.Err() == nil {
		id, err := c.take(ctx)
		if err != nil {
			c.RecoverAfter(ctx, err)
			continue
		}
		c.backoffState.succeeded()
		taken(id)
	}
}

func (c *Client) ConsumeSlowly(ctx context.Context) {
	c.Consume(ctx, func(string) { _ = Pause(ctx, c.Stage.Phase.Hold) })
}

// WaitQueueEmpty waits until no member has an item and no request is in flight, while consumers continue to take, and
// records that the queue is empty. If nothing is taken for longer than patience, it records a snapshot of the queue
// instead: the verdicts then decide whether a consumer should have received an item. It fails if more items are taken
// than were put and the queue does not become empty. No put may begin after the call.
func (st *Stage) WaitQueueEmpty(ctx context.Context, limit time.Duration) error {
	last, since := st.Grants.Load(), time.Now()
	before, enough := last, 2*(st.items.Load()+int64(len(st.Clients)))
	for {
		err := Poll(ctx, min(time.Second, limit), func(ctx context.Context) (bool, error) {
			if st.putting.Load() > 0 { // checked first, because the list below would miss a later put
				return false, nil
			}
			none, err := st.Observer.NoItems(ctx, st.Parent, &st.outstanding)
			return err == nil && none && st.Tap.Totals().InFlight == 0, nil // a member may still be recovering
		})
		switch now := st.Grants.Load(); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			st.Record.Record(&history.Emptied{At: st.Clock.Now(), Phase: st.Phase.Name})
			return nil
		case now-before > enough:
			return fmt.Errorf("the queue does not become empty: %d takes after the last put, but only %d items were put in all: the same items are delivered repeatedly", now-before, st.items.Load())
		case now != last:
			last, since = now, time.Now()
		case time.Since(since) > limit:
			return st.SnapshotStuck(ctx)
		}
	}
}

// eventTrigger triggers the events of one phase. Acquires call it while they are measured: if no fault waits
// for an event, the cost is an addition.
type eventTrigger struct {
	chaos.Events
	clients int
	awaited map[string]spec.Event // by text
	waiting atomic.Int64
	granted atomic.Int64
}

func newEventTrigger(faults []spec.PlannedFault, clients int) *eventTrigger {
	m := &eventTrigger{clients: clients, awaited: map[string]spec.Event{}}
	for _, f := range faults {
		if e, err := spec.ParseEvent(f.On); err == nil && e.Kind != "" {
			m.awaited[f.On] = e
		}
	}
	return m
}

func (m *eventTrigger) acquiring() {
	if m == nil {
		return
	}
	n := m.waiting.Add(1)
	for text, e := range m.awaited {
		if e.Kind == spec.WhenWaiting && int(n)*100 >= e.N*m.clients {
			m.Fire(text)
		}
	}
}

func (m *eventTrigger) acquired(n int, ok bool) {
	if m == nil {
		return
	}
	m.waiting.Add(-1)
	if !ok {
		return
	}
	k := m.granted.Add(1)
	for text, e := range m.awaited {
		counts := e.Kind == spec.AfterFirstGrant || e.Kind == spec.AfterGrants
		if counts && k == int64(e.N) || e.Kind == spec.WhenHolding && e.N == n {
			m.Fire(text)
		}
	}
}
