package scenarios

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// How long a paused holder is watched that was not notified of the loss of its grant: one session
// timeout more if the recipe notifies at all.
const (
	toldLimit   = 10 * time.Second
	untoldLimit = 2 * time.Second
)

// resumeAfterPause resumes the holder's process, which was paused past its session timeout, after another
// client was granted. The holder continues to work until it is notified. Its next write, and the
// question whether it holds, were issued before the pause and are sent when it resumes.
func (f *failoverRound) resumeAfterPause(ctx context.Context, next *attempt, heal func() error) error {
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

type paused struct {
	round *failoverRound
	seen  history.Paused
}

// work writes without fencing, again and again; the first write has begun.
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

// holds records the first answer of the recipe after the pause.
func (p *paused) holds(yes bool) {
	p.seen.Holds = "yes"
	if !yes {
		p.seen.Holds = "no"
		p.told(p.round.st.clock.Now(), "holds")
	}
}

// told records the first notification that the grant is lost.
func (p *paused) told(at time.Duration, by string) {
	if p.seen.By == "" {
		p.seen.Told, p.seen.By = max(at, p.seen.Resumed), by
	}
}

// believe writes to the fenced resource once, as the holder was about to, and then for as long as
// the holder believes.
func (p *paused) believe(ctx context.Context) {
	f := p.round
	limit := f.st.scenario.SessionTimeout + toldLimit
	if !f.st.cell.Subject.Promises.Events {
		limit = untoldLimit
	}
	until := time.Now().Add(limit)
	f.held.write(ctx)
	for p.learn(ctx, writeEvery); p.seen.By == "" && ctx.Err() == nil && time.Now().Before(until); p.learn(ctx, writeEvery) {
		f.held.write(ctx)
	}
}

// learn receives the holder's events for a time.
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

// beginHolds asks the client's recipe whether it holds. It returns nil if the driver has no such
// operation.
func (c *client) beginHolds() (answer func() (bool, error)) {
	d := c.driver()
	if d == nil || !d.Offers("holds") {
		return nil
	}
	return d.BeginHolds()
}

// beginEffect writes to an unfenced node on the client's own session, as a holder does its work.
// finish waits for the reply and records it. It returns nil if the driver has no such operation or
// has ended.
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
