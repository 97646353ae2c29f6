// Package audit runs one cell of an audit: an episode of three clients in which a fault is injected at a
// step of the protocol, or a script that concerns the whole line.
package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

func init() {
	stage.AddKind(spec.Kind{
		Name:     spec.EpisodeKind,
		About:    "three clients wait in line and each holds once; every step is tested against every applicable fault, one fault per episode",
		Pace:     history.ByHarness,
		Barriers: true,
		Fields:   []string{"cells", "also", "depth", "duration"},
		Validate: func(p *spec.Phase, bad spec.ProblemFunc) {
			spec.Between(bad, "depth", p.Depth, 0, 2)
			if (p.Depth == 2) != (p.Duration > 0) {
				bad("duration", "must be set if and only if depth is 2: it limits the time for pairs of faults")
			}
			for i, name := range p.Also {
				if f := spec.FindStepFault(name); f == nil || !f.OptIn {
					names := spec.NamedFaults()
					bad(fmt.Sprintf("also.%d", i), "%q is not one of %s%s", name, strings.Join(names, ", "), units.Nearest(name, names))
				}
			}
			for i, name := range p.Cells {
				if _, err := spec.ParseCell(name); err != nil {
					bad(fmt.Sprintf("cells.%d", i), "%v", err)
				}
			}
		},
		TooFew: func(_ *spec.Phase, clients int) string {
			if clients != spec.EpisodeClients {
				return fmt.Sprintf("an episode has %d clients", spec.EpisodeClients)
			}
			return ""
		},
	}, playCell)
}

// playCell runs the trial's cell, lets every client have a turn, and takes a snapshot.
func playCell(ctx context.Context, st *stage.Stage) error {
	what, err := spec.ParseCell(st.Cell.Provocation)
	if err != nil {
		return err
	}
	limit := provokeLimit + 4*st.Scenario.SessionTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the cell took longer than %v", limit))
	defer cancel()
	if what.Fits != nil && !what.Fits(st.Cell.Subject) {
		return fmt.Errorf("%w: %s does not declare a variant", ErrInapplicable, st.Cell.Subject.Name)
	}
	p := &episodeRun{st: st, ctx: ctx}
	p.course.made, p.course.acting = map[int][]spec.SeenStep{}, map[int]time.Duration{}
	p.calls, p.stop = context.WithCancel(ctx)
	defer p.callOff()
	st.Report("%s", what.Name)
	script := scripts[strings.TrimPrefix(what.Name, spec.AllSteps+"/")]
	if script == nil {
		script = func(p *episodeRun) { p.episode(what.Injections) }
	}
	if err := p.play(script); err != nil {
		return fmt.Errorf("%s: %w", what.Name, stage.CauseOr(ctx, err))
	}
	if st.IsQueue() {
		return nil
	}
	if stuck := p.allTurn(); stuck {
		if err := st.SnapshotUnserved(ctx); err != nil {
			return err
		}
	}
	p.callOff()
	return st.SnapshotIdle(ctx)
}

type episodeLog struct {
	mu       sync.Mutex
	made     map[int][]spec.SeenStep
	released atomic.Int64
	acting   map[int]time.Duration // by client: start of the grant that it is releasing or that a fault hit
}

// markActing records that client n, granted at that time, releases, or is hit by a fault while it
// holds.
func (c *episodeLog) markActing(n int, granted time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acting[n] = granted
}

func (c *episodeLog) clearActing(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.acting, n)
}

// before returns the clients that were granted earlier and have not ended their grant.
func (c *episodeLog) before(granted time.Duration) (clients []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, at := range c.acting {
		if at < granted {
			clients = append(clients, n)
		}
	}
	return clients
}

func (c *episodeLog) called(n int, call string, at time.Duration) (nth int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made[n] = append(c.made[n], spec.SeenStep{Step: spec.Step{Op: call}, At: at})
	for _, s := range c.made[n] {
		if s.Op == call {
			nth++
		}
	}
	return nth
}

// passable reports whether the first holder can release after x was injected: it is another client,
// and no other fault is injected.
func (p *episodeRun) passable(x *stepInjection) bool {
	first := p.course.released.Load() == 0 && x.c.Number > 0
	return first && !p.st.IsQueue() && !p.st.IsBarrier() && len(p.injections) == 1
}

// isDelayed reports whether an active fault delays client i.
func (p *episodeRun) isDelayed(i int) bool {
	return slices.ContainsFunc(p.injections, func(x *stepInjection) bool { return x.c.Number == i && x.fault.Late && x.lasts() })
}

// episode lets every client wait and hold once, or a producer put and the others take, while the
// faults are injected at their steps. It returns when the faults are over.
func (p *episodeRun) episode(aims []spec.Injection) {
	ctx, cancel := context.WithCancel(p.ctx)
	var faults sync.WaitGroup
	defer faults.Wait()
	defer cancel()
	for _, a := range aims {
		x, err := p.newInjection(a.Step, a.Fault)
		p.must(err)
		p.injections = append(p.injections, x)
	}
	for _, x := range p.injections {
		faults.Go(func() { x.run(ctx) })
	}
	switch {
	case slices.ContainsFunc(aims, func(a spec.Injection) bool { return slices.Contains(spec.BacklogRoles, a.Step.Role) }):
		p.handOutBacklog()
	case p.st.IsQueue():
		p.handOut()
	default:
		last := len(p.st.Clients) - 1
		for i := range p.st.Clients {
			if i == last && p.st.IsBarrier() { // when it enters, no client waits any longer
				p.waits(p.st.Clients[:last])
			}
			p.calling(i, spec.CallAcquire)
			before := p.asked(i)
			a := p.begin(i)
			if i == 0 && !p.st.IsBarrier() && !slices.ContainsFunc(aims, func(a spec.Injection) bool { return a.Step.Client() == 0 }) {
				a.AwaitReturn(p.ctx, p.turnLimit())
			}
			p.awaitRequest(i, before)
			p.awaitIdle(i)
		}
		if !p.st.IsBarrier() {
			p.waits(p.st.Clients[1:])
		}
		for range p.rounds() {
			if stuck := p.allTurn(); stuck || !p.hasPendingFault() {
				break
			}
		}
	}
	p.awaitFaultsOver()
	cancel()
}

// rounds returns how many turns each client has at most: more than one if a fault is aimed at a
// step that one turn does not reach.
func (p *episodeRun) rounds() (n int) {
	n = 1
	for _, x := range p.injections {
		if x.at.Nth > maxStepRepeats {
			n = max(n, x.at.Nth)
		}
	}
	return n
}

func (p *episodeRun) hasPendingFault() bool {
	return slices.ContainsFunc(p.injections, func(x *stepInjection) bool { return !x.begun.Load() })
}

// waits lets the clients wait, without a release or put. A fault may hit a waiter once all wait; a client that
// joined later would see only the effect of the fault. After the fault the others have time to make a mistake.
func (p *episodeRun) waits(clients []*stage.Client) {
	if slices.ContainsFunc(p.injections, func(x *stepInjection) bool { return x.at.Kind() == spec.AtWait }) {
		p.awaitAllIdleOrPolling()
	}
	for _, c := range clients {
		x := p.calling(c.Number, spec.CallWait)
		if x == nil {
			continue
		}
		_ = stage.Await(p.ctx, x.over)
		p.awaitAllIdleOrPolling()
	}
}

// awaitFaultsOver waits until the faults that have begun are over. A fault that follows a reply begins a
// moment after it.
func (p *episodeRun) awaitFaultsOver() {
	_ = stage.Poll(p.ctx, restLimit, func(context.Context) (bool, error) {
		return !p.hasPendingFault(), nil
	})
	for _, x := range p.injections {
		if x.begun.Load() && stage.Await(p.ctx, x.over) != nil {
			p.must(context.Cause(p.ctx))
		}
	}
}

// moves counts the grants and releases of all clients but n: a broken recipe may return from a call
// while its request is held.
func (p *episodeRun) moves(n int) (all int64) {
	for _, c := range p.st.Clients {
		if c.Number != n {
			all += c.Transitions.Load()
		}
	}
	return all
}

// quietFor is the number of successive polls that must show the same counts for a client to be idle, and
// restLimit bounds the wait for that. A client that polls, or whose request is held, is never idle.
const (
	quietFor  = 12
	restLimit = 300 * time.Millisecond
)

const askLimit = 2 * time.Second

// awaitRequest waits, within askLimit, until client i has sent a request. A separate process needs a
// while, and a client called after it would join the queue before it.
func (p *episodeRun) awaitRequest(i int, before int64) {
	_ = stage.Poll(p.ctx, askLimit, func(context.Context) (bool, error) {
		a := p.last(i)
		return p.isDelayed(i) || a != nil && a.HasReturned() || p.asked(i) > before, nil
	})
	p.must(context.Cause(p.ctx))
}

func (p *episodeRun) asked(i int) int64 { return p.st.Clients[i].Wire.Counts().Requests.Total() }

// awaitIdle waits, within limits, until client i is idle on the wire.
func (p *episodeRun) awaitIdle(i int) {
	still := stage.IdleDetector{Polls: stage.StillPolls - quietFor}
	_ = stage.Poll(p.ctx, restLimit, func(context.Context) (bool, error) {
		if a := p.last(i); p.isDelayed(i) || a != nil && a.HasReturned() {
			return true, nil
		}
		return still.Observe(p.st.Clients[i].Wire.Counts()), nil
	})
	p.must(context.Cause(p.ctx))
}

// manyRequests is the number of requests after which a waiting client is not expected to become idle.
const manyRequests = 200

// awaitIdleOrPolling waits until client i is idle, or has sent more than manyRequests.
func (p *episodeRun) awaitIdleOrPolling(i int) {
	w := p.st.Clients[i].Wire
	before := w.Counts().Requests.Total()
	var still stage.IdleDetector
	_ = stage.Poll(p.ctx, grantLimit, func(context.Context) (bool, error) { // slow is accepted
		now := w.Counts()
		return still.Observe(now) || now.Requests.Total()-before > manyRequests, nil
	})
	p.must(context.Cause(p.ctx))
}

// awaitAllIdleOrPolling calls restless for every client that no active fault delays.
func (p *episodeRun) awaitAllIdleOrPolling() {
	for k := range p.st.Clients {
		if !p.isDelayed(k) {
			p.awaitIdleOrPolling(k)
		}
	}
}

// itemsPut is the number of items a producer puts for both consumers, and again at the end.
const itemsPut = 2

// handOut makes a producer put items one after the other: the first while one consumer takes alone,
// so that no other takes the missed item, the others for both.
func (p *episodeRun) handOut() {
	var takers sync.WaitGroup
	defer takers.Wait()
	defer p.stop()
	leave := make([]func(), len(p.st.Clients)) // ends a consumer's takes
	join := func(i int) {
		ctx, cancel := context.WithCancel(p.calls)
		done := make(chan struct{})
		leave[i] = func() { cancel(); <-done }
		before := p.asked(i)
		takers.Go(func() { defer close(done); p.takeOn(ctx, i) })
		p.awaitRequest(i, before)
		p.awaitIdle(i)
	}
	join(1)
	p.putOne()
	p.must(p.st.WaitQueueEmpty(p.ctx, p.turnLimit()))
	join(2)
	p.waits(p.st.Clients[1:])
	for range itemsPut * p.rounds() {
		if p.putOne(); !p.hasPendingFault() && p.rounds() > 1 {
			break
		}
	}
	p.awaitFaultsOver()
	if hit, other := p.hitConsumer(); hit > 0 { // alone: the other consumer would take the missed item
		leave[other]()
		p.putOne()
		p.must(p.st.WaitQueueEmpty(p.ctx, p.turnLimit()))
		join(other)
	}
	for range itemsPut { // every consumer is served once more
		p.putOne()
	}
	p.must(p.st.WaitQueueEmpty(p.ctx, p.turnLimit()))
}

// hitConsumer returns the consumer that the episode's fault hit, and the other one; 0 if it hit the
// producer, both or none.
func (p *episodeRun) hitConsumer() (hit, other int) {
	for _, x := range p.injections {
		if x.begun.Load() && x.c.Number > 0 && hit == 0 {
			hit = x.c.Number
		} else if x.begun.Load() && x.c.Number != hit {
			return 0, 0
		}
	}
	if len(p.st.Clients) != 3 || hit == 0 {
		return 0, 0
	}
	return hit, 3 - hit
}

// backlogItems is the number of items a queue has before its consumers take.
const backlogItems = 6

// handOutBacklog lets both consumers take items that were in the queue before, and then more.
func (p *episodeRun) handOutBacklog() {
	var takers sync.WaitGroup
	defer takers.Wait()
	defer p.stop()
	for range backlogItems * p.rounds() {
		p.putOne()
	}
	for i := range p.st.Clients[1:] {
		takers.Go(func() { p.takeOn(p.calls, i+1) })
	}
	p.must(p.st.WaitQueueEmpty(p.ctx, p.turnLimit()))
	p.awaitFaultsOver()
	for range itemsPut {
		p.putOne()
	}
	p.must(p.st.WaitQueueEmpty(p.ctx, p.turnLimit()))
}

// putOne makes the producer put an item, and waits until all clients are idle.
func (p *episodeRun) putOne() {
	c := p.st.Clients[0]
	if !p.ready(p.ctx, 0) {
		p.must(context.Cause(p.ctx))
	}
	p.calling(0, spec.CallPut)
	if _, err := c.PutNext(p.ctx); err != nil {
		c.RecoverAfter(p.ctx, err)
	}
	for i := range p.st.Clients {
		p.awaitIdle(i)
	}
}

func (p *episodeRun) takeOn(ctx context.Context, i int) {
	for ctx.Err() == nil && p.ready(ctx, i) {
		p.calling(i, spec.CallTake)
		a := p.begin(i)
		if stage.Await(ctx, a.Done) != nil {
			a.Cancel()
			<-a.Done
		}
		if a.Err != nil {
			a.Client.RecoverAfter(ctx, a.Err)
		}
	}
}

// calm is an episode without a fault. It records the steps.
func calm(p *episodeRun) {
	var scripts []*wire.Transcript
	for _, c := range p.st.Clients {
		scripts = append(scripts, c.Wire.Record())
	}
	p.episode(nil)
	var seen []spec.SeenStep
	for i, role := range spec.RolesOf(p.st.Cell.Subject)[:spec.EpisodeClients] {
		seen = append(seen, StepsOf(role, scripts[i].Frames(), p.course.made[i])...)
	}
	if w := p.st.Watch; w != nil && w.Add(seen, p.st.Cell.Subject) {
		for _, r := range w.Records(p.st.Cell.Subject) {
			r.At = p.st.Clock.Now()
			p.st.Record.Record(r)
		}
	}
}
