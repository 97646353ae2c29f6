package phases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// WriteEvery is the interval at which the holder writes to the resource.
const WriteEvery = 100 * time.Millisecond

func init() {
	stage.AddKind(spec.Kind{
		Name:     history.FailoverPhase,
		About:    "in each round, a cause ends the grant of the holder; the time until the next grant is measured",
		Pace:     history.ByHarness,
		NoQueues: true,
		Single:   true,
		Fields:   []string{"rounds", "cause"},
		Enums:    map[string][]string{"cause": causeNames()},
		Validate: func(p *spec.Phase, bad spec.ProblemFunc) {
			spec.Between(bad, "rounds", p.Rounds, 0, spec.MaxRounds) // 0 omits the phase
			if Causes[p.Cause] == nil {
				bad("cause", "%q is not a cause of a failover%s", p.Cause, units.Nearest(p.Cause, causeNames()))
			}
		},
		MinClients: func(p *spec.Phase) (int, string) { return min(2, 1+p.Rounds), "the holder requires a successor" },
		Plan:       planFailover,
		Faults: func(p *spec.Phase) []string {
			if c := Causes[p.Cause]; c != nil && p.Rounds > 0 { // Validate reports an unknown cause
				return c.faultNames()
			}
			return nil
		},
	}, failover)
}

// planFailover chooses the holder of each round, and the time for which it holds before the injection. Pings
// are sent every third of a session timeout, and members work in ticks: a time of up to half a timeout
// covers both uniformly. For causes that end the grant at once, up to 100 ms suffice.
func planFailover(p *spec.Phase, r *rand.Rand, timeout time.Duration, clients int) []spec.PlannedRound {
	most := timeout / 2
	if c := Causes[p.Cause]; !c.expires && !c.mayKeepGrant {
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

// failover runs the phase's rounds: in each, one client holds, all others wait, the cause ends the
// holder's grant, and the times of all steps until the next grant are recorded.
func failover(ctx context.Context, st *stage.Stage) error {
	for i, r := range st.Planned.Rounds {
		if err := Causes[st.Phase.Cause].CheckAvailable(st.Members.Ensemble); err != nil {
			return err
		}
		st.Round = i + 1
		st.Report("round %d of %d", st.Round, len(st.Planned.Rounds))
		f := &failoverRound{
			st: st, cause: Causes[st.Phase.Cause], line: stage.NewWaiterGroup(ctx, st), holder: st.Clients[r.Holder],
			events: make(chan holderEvent, 64), result: history.Failover{Next: -1},
		}
		if err := f.run(ctx, r.Wait); err != nil {
			return fmt.Errorf("round %d: %w", st.Round, err)
		}
	}
	return nil
}

// recordStageTimes records the times of the steps before the next grant. It corrects a time that is later than
// possible: a node was removed before its successor was notified.
func (f *failoverRound) recordStageTimes(ctx context.Context, removed func() time.Duration, next *stage.Attempt) {
	if s := f.holder.Wire.Session(); s.ID == f.session {
		f.result.LastRequest = min(s.LastAckSent, f.injectedAt)
	}
	if next == nil {
		return
	}
	latest := next.ReturnedAt
	see := func(instant *time.Duration, at time.Duration) {
		latest = min(latest, at)
		*instant = latest
	}
	if n := next.Client.Wire.Moments().Notified; n > f.injectedAt && n <= next.ReturnedAt {
		see(&f.result.Notified, n)
	}
	// The observer's watches may have been notified later than the client.
	see(&f.result.Committed, cmp.Or(removed(), latest))
	if !f.cause.expires {
		return
	}
	if ago, ok := f.st.Members.ExpiredAgo(ctx, f.session); ok {
		if at := f.st.Clock.Now() - ago; at > f.injectedAt {
			see(&f.result.Expired, at)
		}
	}
}

func (f *failoverRound) predict() prediction {
	s := f.holder.Wire.Session()
	slack := defaultSlack
	if d, err := time.ParseDuration(f.st.Scenario.Params["slack"]); err == nil {
		slack = d
	}
	sinceLastMessage := s.Timeout / 3
	if s.ID == f.session {
		sinceLastMessage = max(0, f.injectedAt-s.LastAckSent)
	}
	return f.cause.predict(s.Timeout, f.st.Members.Ensemble.Tick, sinceLastMessage, slack, f.onLeader)
}

func (f *failoverRound) record() {
	p, r, claim := f.predict(), &f.result, f.held.Claim
	r.At, r.Phase, r.Round, r.Cause = f.st.Clock.Now(), f.st.Phase.Name, f.st.Round, f.cause.name
	r.Client, r.Session, r.Token, r.Path = f.holder.Number, f.session, claim.Token, claim.Path
	r.Timeout, r.Injected = f.holder.Wire.Session().Timeout, f.injectedAt
	r.Least, r.Most, r.Mean, r.Expires = p.least, p.most, max(p.mean, 0), f.cause.expires
	f.st.Record.Record(r)
}

// Cause is a way in which a grant can end in a failover.
type Cause struct {
	name string
	// act is an action of the holder; nil if faults cause the failover.
	act          func(ctx context.Context, held *stage.Attempt) error
	faults       []causeFault // injected at once
	keepsSession bool         // the holder releases and keeps its session
	// mayKeepGrant means that the session can survive, and that the holder may then keep its grant.
	mayKeepGrant      bool
	expires           bool // the session must expire first
	resumesAfterGrant bool // the holder is resumed only after another client was granted
	needsElection     bool // the ensemble must elect a leader first
}

type causeFault struct{ fault, target string }

var Causes = map[string]*Cause{}

func init() {
	crash := causeFault{"session.expire", chaos.Holder}
	leaderKill := causeFault{"member.kill", chaos.Leader}
	for _, c := range []Cause{
		{name: "release", keepsSession: true, act: func(ctx context.Context, held *stage.Attempt) error { return held.Release(ctx) }},
		{name: "close", act: func(_ context.Context, held *stage.Attempt) error { return held.Client.Leave() }},
		{name: "expel", faults: []causeFault{{"session.close", chaos.Holder}}}, // its session is closed by another client
		{name: "crash", faults: []causeFault{crash}, expires: true},            // its connections are cut, and new ones refused
		{name: "freeze", faults: []causeFault{{"session.freeze", chaos.Holder}}, expires: true},
		{name: "pause", faults: []causeFault{{"client.pause", chaos.Holder}}, expires: true, resumesAfterGrant: true}, // its process is stopped
		{name: "server.kill", faults: []causeFault{{"member.kill", chaos.MemberOf + chaos.Holder}}, mayKeepGrant: true},
		{name: "leader.kill", faults: []causeFault{leaderKill}, mayKeepGrant: true, needsElection: true},
		{name: "crash+leader.kill", faults: []causeFault{crash, leaderKill}, expires: true, needsElection: true},
	} {
		Causes[c.name] = &c
	}
}

// CheckAvailable returns an error with the reason if the cause is not available on an ensemble, or nil. If
// killing one member ends the quorum, no client can be granted, whatever the recipe.
func (c *Cause) CheckAvailable(e *ensembles.Ensemble) error {
	n := len(e.Voting())
	if slices.Contains(c.faultNames(), "member.kill") && n-1 < n/2+1 {
		return fmt.Errorf("%w: %s leaves no majority of %s, so no client can receive a grant; use 3 or more members", chaos.ErrSkipped, c.name, units.Plural(n, "member"))
	}
	return nil
}

func causeNames() []string { return slices.Sorted(maps.Keys(Causes)) }

func (c *Cause) faultNames() []string {
	return units.Names(c.faults, func(f causeFault) string { return f.fault })
}

func (c *Cause) entries() ([]chaos.Entry, error) {
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
	// electionLimit bounds the time until a new leader is elected and members serve. ZooKeeper needs 0.4 to
	// 0.9 s on an idle machine.
	electionLimit = 3 * time.Second
)

// prediction is the predicted range of the time from an injection until the next grant.
type prediction struct {
	least, most time.Duration
	mean        time.Duration // over injections at uniformly distributed moments; 0 without a formula
}

// predict applies the formulas of ZooKeeper's session expiry. timeout is the negotiated T; sinceLastMessage is
// the time from the last message of the session that the servers received to the injection; onLeader reports
// whether the leader itself served the session.
//
// The servers count from the last message, which is at most T/3, the interval of pings, before the injection. A
// follower informs the leader up to tick/2 later. The leader rounds the end up to the next tick. The commit of the
// session's end, the notification and, in some variants, a list follow within slack.
//
//	T - sinceLastMessage <= failover <= T + tick/2 + tick + slack
//	mean = T - T/6 + lag + tick/2, lag being tick/4 on average behind a follower
//
// A new leader restarts the timeout of every session when it takes over.
func (c *Cause) predict(timeout, tick, sinceLastMessage, slack time.Duration, onLeader bool) prediction {
	p := prediction{most: slack}
	if c.expires {
		p.least = timeout - min(sinceLastMessage, timeout)
		p.most = timeout + tick/2 + tick + slack
		p.mean = timeout - timeout/6 + tick/2
		if !onLeader {
			p.mean += tick / 4
		}
	}
	if c.mayKeepGrant { // otherwise the session expires
		p.most = timeout + tick/2 + tick + slack
	}
	if c.needsElection {
		p.most += electionLimit
		p.mean = 0
	}
	return p
}

// Limits of the time for which a resumed holder that was not notified of its loss is observed. notificationLimit
// applies, in addition to a session timeout, if the recipe reports events, else silentLimit.
const (
	notificationLimit = 10 * time.Second
	silentLimit       = 2 * time.Second
)

// resumeAfterPause resumes the holder's process, which was paused past its session timeout, after another
// client was granted. The holder continues to work until it is notified. Its next write and the query
// whether it holds are issued while it is paused, and take effect when it resumes.
func (f *failoverRound) resumeAfterPause(ctx context.Context, next *stage.Attempt, heal func() error) error {
	p := &paused{round: f, result: history.Paused{
		Phase: f.st.Phase.Name, Round: f.st.Round, Client: f.holder.Number, Next: next.Client.Number, Stopped: f.injectedAt, Granted: next.ReturnedAt,
	}}
	next.Write(ctx)
	if finish := next.Client.BeginEffect(next.Claim); finish != nil {
		finish(ctx)
	}
	answer := f.holder.BeginHolds()
	finish := f.holder.BeginEffect(f.held.Claim)
	p.result.Resumed = f.st.Clock.Now()
	if err := heal(); err != nil {
		return err
	}
	var working sync.WaitGroup
	stop := make(chan struct{})
	working.Go(func() { p.work(ctx, finish, stop) })
	if answer != nil {
		holds, err := answer()
		switch {
		case err != nil:
		case holds:
			p.result.Holds = "yes"
		default:
			p.result.Holds = "no"
			p.recordLoss(f.st.Clock.Now(), "holds")
		}
	}
	p.writeUntilLoss(ctx)
	p.result.At = f.st.Clock.Now()
	close(stop)
	working.Wait()
	f.st.Record.Record(&p.result)
	return ctx.Err()
}

type paused struct {
	round  *failoverRound
	result history.Paused
}

// work writes without fencing, repeatedly, until stop is closed; the first write has already begun.
func (p *paused) work(ctx context.Context, finish func(context.Context), stop <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, p.round.st.Scenario.SessionTimeout+notificationLimit)
	defer cancel()
	for finish != nil {
		finish(ctx)
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-time.After(WriteEvery):
		}
		finish = p.round.holder.BeginEffect(p.round.held.Claim)
	}
}

func (p *paused) recordLoss(at time.Duration, by string) {
	if p.result.By == "" {
		p.result.Notified, p.result.By = max(at, p.result.Resumed), by
	}
}

func (p *paused) writeUntilLoss(ctx context.Context) {
	f := p.round
	limit := f.st.Scenario.SessionTimeout + notificationLimit
	if !f.st.Cell.Subject.Promises.Events {
		limit = silentLimit
	}
	over := time.After(limit)
	f.held.Write(ctx)
	nextWrite := time.After(WriteEvery)
	for p.result.By == "" {
		select {
		case e := <-f.events:
			if e.kind != recipes.EventRestored {
				p.recordLoss(e.at, string(e.kind))
			}
		case <-nextWrite:
			f.held.Write(ctx)
			nextWrite = time.After(WriteEvery)
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}
