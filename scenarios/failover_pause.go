package scenarios

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// How long a holder that was paused is watched that has not been told that its grant is
// gone: a session timeout more where it is told of such things.
const (
	toldLimit   = 10 * time.Second
	untoldLimit = 2 * time.Second // of one that is told nothing
)

// goOn lets the holder's process go on, which was paused past its session: another client
// holds by now. It does what a holder does who knows of nothing, until it is told: it works.
// Its next piece of work, and the question whether it holds, are there when it goes on: it
// was about to do it when it was stopped.
func (f *failoverRound) goOn(ctx context.Context, next *attempt, heal func() error) error {
	p := &paused{round: f, seen: history.Paused{
		Phase: f.st.phase.Name, Round: f.st.round, Client: f.victim.n, Next: next.c.n, Stopped: f.hitAt, Granted: next.at,
	}}
	next.write(ctx)
	if work := next.c.beginEffect(next.claim); work != nil {
		work(ctx)
	}
	answer := f.victim.beginHolds()
	work := f.victim.beginEffect(f.held.claim)
	p.seen.Resumed = f.st.clock.Now()
	if err := heal(); err != nil {
		return err
	}
	var working sync.WaitGroup
	stop := make(chan struct{})
	working.Go(func() { p.work(ctx, work, stop) })
	if answer != nil {
		if holds, err := answer(); err == nil {
			p.holds(holds)
		}
	}
	p.believe(ctx)
	p.seen.At = f.st.clock.Now()
	close(stop)
	working.Wait()
	f.st.record.Record(&p.seen)
	return ctx.Err()
}

// paused is a holder that goes on after a pause.
type paused struct {
	round *failoverRound
	seen  history.Paused
}

// work does one piece of unfenced work after the other, of which the first has begun.
func (p *paused) work(ctx context.Context, finish func(context.Context), stop <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, p.round.st.scenario.SessionTimeout+toldLimit)
	defer cancel()
	for finish != nil {
		finish(ctx)
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-time.After(writeEvery):
		}
		finish = p.round.victim.beginEffect(p.round.held.claim)
	}
}

// holds takes the first thing that the recipe says of itself after the pause.
func (p *paused) holds(yes bool) {
	p.seen.Holds = "yes"
	if !yes {
		p.seen.Holds = "no"
		p.told(p.round.st.clock.Now(), "holds")
	}
}

// told notes the first word of it that the holder does not hold any more.
func (p *paused) told(at time.Duration, by string) {
	if p.seen.By == "" {
		p.seen.Told, p.seen.By = max(at, p.seen.Resumed), by
	}
}

// believe has the holder write to the fenced resource once, as it was about to, and then for
// as long as it believes.
func (p *paused) believe(ctx context.Context) {
	f := p.round
	limit := f.st.scenario.SessionTimeout + toldLimit
	if !f.st.cell.Subject.Promises.Events {
		limit = untoldLimit
	}
	until := time.Now().Add(limit)
	f.held.write(ctx) // it was about to
	for p.learn(ctx, writeEvery); p.seen.By == "" && ctx.Err() == nil && time.Now().Before(until); p.learn(ctx, writeEvery) {
		f.held.write(ctx)
	}
}

// learn takes what the holder learns within a time.
func (p *paused) learn(ctx context.Context, within time.Duration) {
	late := time.NewTimer(within)
	defer late.Stop()
	for p.seen.By == "" {
		select {
		case l := <-p.round.learned:
			if l.kind != recipes.EventRestored {
				p.told(l.at, string(l.kind))
			}
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// beginHolds asks the client's recipe whether it holds. Nil where the driver does not offer
// that.
func (c *client) beginHolds() (answer func() (bool, error)) {
	d := c.driver()
	if d == nil || !d.Offers("holds") {
		return nil
	}
	return d.BeginHolds()
}

// beginEffect has the client write under its grant to a node that nothing fences, on its own
// session, as a holder does its work. finish waits for the answer and records it. Nil where
// the driver does not offer that, or nothing more can be asked of the client.
func (c *client) beginEffect(claim recipes.Claim) (finish func(context.Context)) {
	d := c.driver()
	if d == nil || !d.Offers("write") {
		return nil
	}
	due := c.st.clock.Now()
	answer := d.BeginWrite(c.st.fence.text(claim.Token, c.grant.Load()))
	return func(ctx context.Context) {
		s := c.sample(history.Effect, due, answer(ctx))
		s.Token, s.Session = claim.Token, cmp.Or(claim.Session, s.Session)
		c.timed(&s)
		c.st.record.Sample(s)
	}
}
