package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

func init() {
	addKind(spec.Kind{
		Name:   history.FailoverPhase,
		About:  "a cause ends the holder, again and again; the time to the next grant is taken",
		Pace:   history.ByHarness,
		Needs:  spec.NeedsGrants,
		Single: true,
		Fields: []string{"rounds", "cause"},
		Words:  map[string][]string{"cause": causeNames()},
		Validate: func(p *spec.Phase, bad spec.ProblemFunc) {
			spec.Between(bad, "rounds", p.Rounds, 0, spec.MaxRounds) // 0 leaves the phase out
			if causes[p.Cause] == nil {
				bad("cause", "%q is no cause%s", p.Cause, units.Nearest(p.Cause, causeNames()))
			}
		},
		TooFew: func(p *spec.Phase, clients int) string {
			if clients < 2 && p.Rounds > 0 {
				return fmt.Sprintf("%d leaves no successor of the holder", clients)
			}
			return ""
		},
		Plan: planFailover,
		Faults: func(p *spec.Phase) []string {
			if p.Rounds == 0 {
				return nil
			}
			if c := causes[p.Cause]; c != nil { // an unknown cause is reported elsewhere
				return c.faultNames()
			}
			return nil
		},
	}, failover)
}

// planFailover chooses the holder of each round, and how long it holds before the hit. Pings are sent
// every third of a session timeout, and members work in ticks: half a timeout covers both
// uniformly. Otherwise the time can be short.
func planFailover(p *spec.Phase, r *rand.Rand, timeout time.Duration, clients int) []spec.PlannedRound {
	most := timeout / 2
	if c := causes[p.Cause]; !c.expires && !c.keeps {
		most = min(most, 100*time.Millisecond)
	}
	var rounds []spec.PlannedRound
	for range p.Rounds {
		rounds = append(rounds, spec.PlannedRound{
			Holder: r.IntN(clients),
			Wait:   p.Hold + time.Duration(r.Int64N(int64(most))).Truncate(time.Microsecond),
		})
	}
	return rounds
}

// failover runs the phase's rounds: in each, one client holds and all others wait, the cause hits
// the holder, and every step until the next grant is timed.
func failover(ctx context.Context, st *stage) error {
	if err := causes[st.phase.Cause].lacking(st.members.ensemble); err != nil && len(st.planned.Rounds) > 0 {
		return err
	}
	for i, r := range st.planned.Rounds {
		st.round = i + 1
		st.report("round %d of %d", st.round, len(st.planned.Rounds))
		f := &failoverRound{
			st: st, cause: causes[st.phase.Cause], line: st.newLine(ctx), victim: st.clients[r.Holder],
			learned: make(chan learned, 64), seen: history.Failover{Next: -1},
		}
		if err := f.run(ctx, r.Wait); err != nil {
			return fmt.Errorf("round %d: %w", st.round, err)
		}
	}
	return nil
}

// stages records the times of the steps before the next grant. A time that is later than possible
// is corrected: a node was removed before its successor was notified.
func (f *failoverRound) stages(ctx context.Context, removed func() time.Duration, next *attempt) {
	if s := f.victim.wire.Session(); s.ID == f.session {
		f.seen.Heard = min(s.LastAckSent, f.hitAt)
	}
	if next == nil {
		return
	}
	latest := next.at
	see := func(instant *time.Duration, at time.Duration) {
		latest = min(latest, at)
		*instant = latest
	}
	if n := next.c.wire.Moments().Notified; n > f.hitAt && n <= next.at {
		see(&f.seen.Woken, n)
	}
	// Our watches may have been slower.
	see(&f.seen.Committed, cmp.Or(removed(), latest))
	if !f.cause.expires {
		return
	}
	if ago, ok := f.st.members.expiredAgo(ctx, f.session); ok {
		if at := f.st.clock.Now() - ago; at > f.hitAt {
			see(&f.seen.Expired, at)
		}
	}
}

// predict returns the expected time until the next grant after this hit.
func (f *failoverRound) predict() prediction {
	s := f.victim.wire.Session()
	slack := defaultSlack
	if d, err := time.ParseDuration(f.st.scenario.Params["slack"]); err == nil {
		slack = d
	}
	unheard := s.Timeout / 3
	if s.ID == f.session {
		unheard = max(0, f.hitAt-s.LastAckSent)
	}
	return f.cause.predict(s.Timeout, f.st.members.ensemble.Tick, unheard, slack, f.leads)
}

func (f *failoverRound) record() {
	p, r, claim := f.predict(), &f.seen, f.held.claim
	r.At, r.Phase, r.Round, r.Cause = f.st.clock.Now(), f.st.phase.Name, f.st.round, f.cause.name
	r.Client, r.Session, r.Token, r.Path = f.victim.n, f.session, claim.Token, claim.Path
	r.Timeout, r.Injected = f.victim.wire.Session().Timeout, f.hitAt
	r.Least, r.Most, r.Mean, r.Expires = p.least, p.most, max(p.mean, 0), f.cause.expires
	f.st.record.Record(r)
}

// cause is a way in which a grant can end in a failover.
type cause struct {
	name string
	// act is an action of the client itself; nil if faults cause the failover.
	act    func(ctx context.Context, held *attempt) error
	faults []causeFault // injected at once
	stays  bool         // the holder keeps its session and has released
	// keeps means that the session can survive: then the holder may keep its grant.
	keeps   bool
	expires bool // the session must expire first
	goesOn  bool // the holder continues after another client was granted
	elects  bool // the ensemble must elect a leader first
}

type causeFault struct{ fault, target string }

var causes = map[string]*cause{}

func init() {
	crash := causeFault{"session.expire", chaos.Holder}
	leaderKill := causeFault{"member.kill", chaos.Leader}
	for _, c := range []cause{
		{name: "release", stays: true, act: func(ctx context.Context, held *attempt) error { return held.release(ctx) }},
		{name: "close", act: func(_ context.Context, held *attempt) error { return held.c.leave() }},
		{name: "expel", faults: []causeFault{{"session.close", chaos.Holder}}}, // its session is closed by another client
		{name: "crash", faults: []causeFault{crash}, expires: true},            // its connections are cut, and new ones refused
		{name: "freeze", faults: []causeFault{{"session.freeze", chaos.Holder}}, expires: true},
		{name: "pause", faults: []causeFault{{"client.pause", chaos.Holder}}, expires: true, goesOn: true}, // its process is stopped
		{name: "server.kill", faults: []causeFault{{"member.kill", chaos.MemberOf + chaos.Holder}}, keeps: true},
		{name: "leader.kill", faults: []causeFault{leaderKill}, keeps: true, elects: true},
		{name: "crash+leader.kill", faults: []causeFault{crash, leaderKill}, expires: true, elects: true},
	} {
		causes[c.name] = &c
	}
}

// lacking returns why the cause is not available on an ensemble, or nil. If killing one member
// takes the quorum with it, no client can be granted, regardless of the recipe does.
func (c *cause) lacking(e *ensembles.Ensemble) error {
	n := len(e.Voting())
	if slices.Contains(c.faultNames(), "member.kill") && n-1 < n/2+1 {
		return fmt.Errorf("%w: %s leaves no majority of %s, so no client could be granted; use 3 or more", chaos.ErrSkipped, c.name, units.Plural(n, "member"))
	}
	return nil
}

func causeNames() []string { return slices.Sorted(maps.Keys(causes)) }

func (c *cause) faultNames() []string {
	return units.Names(c.faults, func(f causeFault) string { return f.fault })
}

func (c *cause) entries() ([]chaos.Entry, error) {
	var entries []chaos.Entry
	for _, f := range c.faults {
		fault, err := chaos.Parse(f.fault, f.target, nil)
		if err != nil {
			return nil, err
		}
		entries = append(entries, chaos.Entry{Fault: fault})
	}
	return entries, nil
}

// Margins of the prediction.
const (
	// defaultSlack bounds the time of a commit, a notification and a list together on a busy
	// machine: W + L in the formulas. The scenario's parameter slack overrides it.
	defaultSlack = 500 * time.Millisecond
	// electLimit bounds the time to elect a leader and serve again. ZooKeeper needs 0.4 to 0.9 s on
	// an idle machine.
	electLimit = 3 * time.Second
)

// prediction is the range of times until the next grant after a hit.
type prediction struct {
	least, most time.Duration
	mean        time.Duration // over hits at uniformly distributed moments; 0 without a formula
}

// predict applies the formulas of ZooKeeper's session expiry. timeout is T, negotiated; unheard is
// the time before the hit at which the servers last received a message of the session; onLeader
// reports whether the leader itself served it.
//
// The servers count from the last message, which is at most T/3, the interval of pings, before the
// hit. A follower tells the leader up to tick/2 later. The leader rounds the end up to the next
// tick. Then come the commit of the session's end, the notification and, in some variants, a list:
// slack.
//
//	T - unheard <= failover <= T + tick/2 + tick + slack
//	mean = T - T/6 + lag + tick/2, lag being tick/4 on average behind a follower
//
// A new leader starts every session's timeout again when it takes over.
func (c *cause) predict(timeout, tick, unheard, slack time.Duration, onLeader bool) prediction {
	p := prediction{most: slack}
	if c.expires {
		p.least = timeout - min(unheard, timeout)
		p.most = timeout + tick/2 + tick + slack
		p.mean = timeout - timeout/6 + tick/2
		if !onLeader {
			p.mean += tick / 4
		}
	}
	if c.keeps { // otherwise the session expires
		p.most = timeout + tick/2 + tick + slack
	}
	if c.elects {
		p.most += electLimit
		p.mean = 0
	}
	return p
}

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

// WhenHolding records the first answer of the recipe after the pause.
func (p *paused) holds(yes bool) {
	p.seen.Holds = "yes"
	if !yes {
		p.seen.Holds = "no"
		p.told(p.round.st.clock.Now(), "holds")
	}
}

// ReportedIncident records the first notification that the grant is lost.
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
	answer := d.BeginWrite(c.st.fence.Text(claim.Token, c.grant.Load()))
	return func(ctx context.Context) {
		s := c.sample(history.Effect, due, answer(ctx))
		s.Token, s.Session = claim.Token, cmp.Or(claim.Session, s.Session)
		c.timed(&s)
		c.st.record.Sample(s)
	}
}
