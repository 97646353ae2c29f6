package stage

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// SnapshotAfterLoad takes a snapshot of the line after all clients have left. It records nothing if a client is
// removing its node.
func (st *Stage) SnapshotAfterLoad(ctx context.Context) error {
	st.awaitEmpty(ctx)
	before, asking := st.Tap.Totals(), hasPendingRequest(slices.Concat(st.Clients, st.Producers))
	all, err := st.observe(ctx, idleFor)
	if now := st.Tap.Totals(); err == nil && !asking && changes(now) == changes(before) {
		for _, r := range all {
			st.Record.Record(r)
		}
	}
	return ctx.Err()
}

// Loop is the loop of one client in a churn. A client whose session has ended opens a new one;
// after other errors it backs off.
func (c *Client) Loop(ctx context.Context) {
	for ctx.Err() == nil {
		claim, err := c.Acquire(ctx)
		if err == nil {
			c.Hold(ctx, claim)
			err = c.Release(ctx, claim)
		}
		if err != nil {
			c.RecoverAfter(ctx, err)
			continue
		}
		c.backoffState.succeeded()
	}
}

// minWatchedHold is the minimum hold time for waiting, at the end of a hold, until a suspended grant is restored
// or lost. With a shorter hold time the holder releases at once.
const minWatchedHold = 100 * time.Millisecond

// Hold keeps the claim for the phase's hold time and writes to the resource.
func (c *Client) Hold(ctx context.Context, claim recipes.Claim) {
	until := time.Now().Add(c.Stage.Phase.Hold)
	c.write(ctx, claim)
	c.checkSometimes(ctx, claim)
	_ = Pause(ctx, time.Until(until))
	if c.Stage.Phase.Hold >= minWatchedHold {
		_ = Poll(ctx, c.Stage.GrantTimeout(), func(context.Context) (bool, error) {
			return !c.inDoubt(claim.Token) || c.IsOver(claim.Token), nil
		})
	}
}

// Exchange is the loop of one client at a queue: the client puts items until phase is done, and takes items until
// taking is done.
func (c *Client) Exchange(phase, taking context.Context) {
	for phase.Err() == nil {
		err := c.exchangePut(phase)
		if err == nil { // otherwise all clients might wait for an item
			_, err = c.take(taking)
		}
		if err != nil {
			c.RecoverAfter(taking, err) // with taking, because a client without a session cannot take the remaining items
			continue
		}
		c.backoffState.succeeded()
		_ = Pause(phase, c.Stage.Phase.Hold)
	}
	c.ConsumeSlowly(taking)
}

// exchangePut puts an item unless the phase is over. It increments putting before it checks, so that no put follows
// once the phase is over and putting is 0.
func (c *Client) exchangePut(phase context.Context) error {
	c.Stage.putting.Add(1)
	defer c.Stage.putting.Add(-1)
	if phase.Err() != nil {
		return phase.Err()
	}
	_, err := c.PutNext(phase)
	return err
}

// arrivals are the instants at which operations of a phase are due. Each operation is given to one free client.
type arrivals struct {
	history.Arrivals
	random *rand.Rand // nil for even intervals

	mu    sync.Mutex
	count float64 // how many operations are expected until the next one
	until time.Duration
}

func newArrivals(p *spec.Phase, start time.Duration, seed uint64) *arrivals {
	a := &arrivals{until: p.Duration, Arrivals: history.Arrivals{
		At: start, Phase: p.Name, For: p.Duration, Rate: p.Rate, RateTo: p.RateTo, Steps: p.Steps}}
	if p.Arrivals == spec.Poisson {
		a.random = rand.New(rand.NewPCG(seed, 0))
		a.count = a.random.ExpFloat64()
	}
	return a
}

func (a *arrivals) next() (due time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	after := a.offset(a.count)
	if after >= a.until {
		return 0, false
	}
	a.count++
	if a.random != nil {
		a.count += a.random.ExpFloat64() - 1
	}
	return a.At + after, true
}

func (a *arrivals) end(now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = min(a.until, now-a.At)
}

func (a *arrivals) offset(count float64) time.Duration {
	whole := a.For.Seconds()
	switch {
	case !a.Ramp():
		return inSeconds(count / a.Rate)
	case a.Steps > 1:
		each := whole / float64(a.Steps)
		for i := range a.Steps {
			rate := a.RateAt(time.Duration((float64(i) + 0.5) * each * float64(time.Second)))
			if count < rate*each {
				return inSeconds(float64(i)*each + count/rate)
			}
			count -= rate * each
		}
		return a.For
	}
	slope := (a.RateTo - a.Rate) / whole
	return inSeconds(2 * count / (a.Rate + math.Sqrt(a.Rate*a.Rate+2*count*slope)))
}

func inSeconds(s float64) time.Duration {
	return time.Duration(min(s, spec.MaxDuration.Seconds()) * float64(time.Second))
}

// maxLag is the longest time, as a fraction of a ramp's duration, for which a due operation may wait for a
// free client. After a longer wait the ramp ends, because the subject does not keep up.
const maxLag = 0.2

type openLoop struct {
	*arrivals
	op         string
	servingCtx context.Context // ends when no more operations are called
	over       func()          // ends the phase
	do         func(c *Client, due time.Duration) error
}

// OpenArrivals starts the arrivals of a phase. [Client.ServeArrivals] calls do for each operation. stop must be called.
func (st *Stage) OpenArrivals(ctx context.Context, op string, over func(), do func(context.Context, *Client, time.Duration) error) (l *openLoop, stop func()) {
	serving, stop := context.WithTimeout(ctx, 2*st.Phase.Duration)
	l = &openLoop{newArrivals(&st.Phase, st.Clock.Now(), st.Planned.Seed), op, serving, over,
		func(c *Client, due time.Duration) error { return do(serving, c, due) }}
	st.Record.Record(&l.Arrivals)
	return l, stop
}

// ServeArrivals calls due operations one after the other. Operations may be called until twice the phase's
// duration is over; operations that are not called by then are recorded as failed. A ramp ends early if the
// subject clearly does not keep up.
func (c *Client) ServeArrivals(ctx context.Context, l *openLoop) {
	for {
		due, ok := l.next()
		if !ok || Pause(ctx, due-c.Stage.Clock.Now()) != nil {
			return
		}
		now := c.Stage.Clock.Now()
		if l.Ramp() && now-due > time.Duration(maxLag*float64(l.For)) {
			l.end(now)
			l.over()
		}
		if l.servingCtx.Err() != nil {
			c.recordUnserved(l.op, due, now)
			continue
		}
		if err := l.do(c, due); err != nil {
			c.RecoverAfter(l.servingCtx, err)
			continue
		}
		c.backoffState.succeeded()
	}
}

func (c *Client) recordUnserved(op string, due, now time.Duration) {
	s := history.Sample{Client: c.Number, Phase: c.Stage.Phase.Name, Op: op, Due: due, Call: now, Return: now, Outcome: history.Failed,
		Err: fmt.Sprintf("not called: all clients were busy for %v", (now - due).Round(time.Millisecond))}
	if op == history.Put {
		s.Item = c.Stage.ItemID(c.Number)
	}
	c.Stage.Record.Sample(s)
}
