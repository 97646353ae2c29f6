// Package audit runs one cell of an audit: an episode, in which a fault is injected at a step of the protocol of
// three clients, or a script, which all clients of a waiting line run.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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
		Fields:   []string{"cells", "also"},
		Validate: func(p *spec.Phase, bad spec.ProblemFunc) {
			for i, name := range p.Also {
				if f := spec.FindStepFault(name); f == nil || !f.OptIn {
					names := spec.NamedFaults()
					bad(fmt.Sprintf("also.%d", i), "%q is not a fault that a full audit omits%s", name, units.Nearest(name, names))
				}
			}
			for i, name := range p.Cells {
				if _, err := spec.ParseCell(name); err != nil {
					bad(fmt.Sprintf("cells.%d", i), "%v", err)
				}
			}
		},
	}, runCell)
}

// runCell runs the trial's cell, lets every client hold once more, and takes a snapshot.
func runCell(ctx context.Context, st *stage.Stage) error {
	what, err := spec.ParseCell(st.Cell.Provocation)
	if err != nil {
		return err
	}
	limit := scriptLimit + 4*st.Scenario.SessionTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the cell took longer than %v", limit))
	defer cancel()
	if what.AppliesTo != nil && !what.AppliesTo(st.Cell.Subject) {
		return fmt.Errorf("%w: %s does not declare a variant", ErrInapplicable, st.Cell.Subject.Name)
	}
	p := &episodeRun{st: st, ctx: ctx, madeCalls: make([][]spec.SeenStep, len(st.Clients)), acting: make([]time.Duration, len(st.Clients)), served: make([]bool, len(st.Clients))}
	p.calls, p.stop = context.WithCancel(ctx)
	defer p.cancelAttempts()
	st.Report("%s", what.Name)
	script := scripts[strings.TrimPrefix(what.Name, spec.AllSteps+"/")]
	if script == nil {
		script = func(p *episodeRun) { p.episode(what.Injections) }
	}
	if err := p.runScript(script); err != nil {
		return fmt.Errorf("%s: %w", what.Name, cmp.Or(context.Cause(ctx), err))
	}
	if st.IsQueue() {
		return nil
	}
	if stuck := p.serveAll(); stuck {
		if err := st.Snapshot(ctx, stage.StuckFor, true); err != nil {
			return err
		}
	}
	p.cancelAttempts()
	return st.SnapshotIdle(ctx)
}

// setActing records that client n, granted at that time, releases, or is affected by a fault while it holds; granted 0
// means that the grant has ended.
func (p *episodeRun) setActing(n int, granted time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acting[n] = granted
}

// earlierHolders returns the clients that were granted earlier and have not ended their grant.
func (p *episodeRun) earlierHolders(granted time.Duration) (clients []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, at := range p.acting {
		if at > 0 && at < granted {
			clients = append(clients, n)
		}
	}
	return clients
}

func (p *episodeRun) called(n int, call string) (nth int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.madeCalls[n] = append(p.madeCalls[n], spec.SeenStep{Step: spec.Step{Op: call}, At: p.st.Clock.Now()})
	for _, s := range p.madeCalls[n] {
		if s.Op == call {
			nth++
		}
	}
	return nth
}

// passable reports whether the first holder can release after x was injected: it is another client,
// and no other fault is injected.
func (p *episodeRun) passable(x *stepInjection) bool {
	first := p.released.Load() == 0 && x.c.Number > 0
	return first && !p.st.IsQueue() && !p.st.IsBarrier() && len(p.injections) == 1
}

func (p *episodeRun) isDelayed(i int) bool {
	return slices.ContainsFunc(p.injections, func(x *stepInjection) bool { return x.c.Number == i && x.fault.UntilOthersProgress && x.isActive() })
}

// episode lets every client wait and hold once, or a producer put and the others take, while the
// faults are injected at their steps. It returns when the faults are over.
func (p *episodeRun) episode(planned []spec.Injection) {
	ctx, cancel := context.WithCancel(p.ctx)
	var faults sync.WaitGroup
	defer faults.Wait()
	defer cancel()
	for _, a := range planned {
		x, err := p.newInjection(a.Step, a.Fault)
		p.must(err)
		p.injections = append(p.injections, x)
	}
	for _, x := range p.injections {
		faults.Go(func() { x.run(ctx) })
	}
	switch {
	case slices.ContainsFunc(planned, func(a spec.Injection) bool { return slices.Contains(spec.BacklogRoles, a.Step.Role) }):
		p.deliverBacklog()
	case p.st.IsQueue():
		p.deliverItems()
	default:
		last := len(p.st.Clients) - 1
		for i := range p.st.Clients {
			if i == last && p.st.IsBarrier() { // when it enters, no client waits any longer
				p.letWait(p.st.Clients[:last])
			}
			p.calling(i, spec.CallAcquire)
			before := p.requestCount(i)
			a := p.startAttempt(i)
			if i == 0 && !p.st.IsBarrier() && !slices.ContainsFunc(planned, func(a spec.Injection) bool { return a.Step.Client() == 0 }) {
				a.AwaitReturn(p.ctx, p.stuckLimit())
			}
			p.awaitRequest(i, before)
			p.awaitIdle(i)
		}
		if !p.st.IsBarrier() {
			p.letWait(p.st.Clients[1:])
		}
		for range p.rounds() {
			if stuck := p.serveAll(); stuck || !p.hasPendingFault() {
				break
			}
		}
	}
	p.awaitFaultsOver()
	cancel()
}

// rounds returns the largest number of grants of each client: more than one if a fault is aimed at a
// step that the first grant does not reach.
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

// letWait lets the clients wait, without a release or put. A fault of a waiter is injected once all wait; a client that
// joined later would see only the effect of the fault. After the fault the others have time to react wrongly.
func (p *episodeRun) letWait(clients []*stage.Client) {
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

// awaitFaultsOver waits until the faults that have begun are over. A fault that follows a reply begins
// shortly after it.
func (p *episodeRun) awaitFaultsOver() {
	_ = stage.Poll(p.ctx, clientIdleLimit, func(context.Context) (bool, error) { return !p.hasPendingFault(), nil })
	for _, x := range p.injections {
		if x.begun.Load() && stage.Await(p.ctx, x.over) != nil {
			p.must(context.Cause(p.ctx))
		}
	}
}

// transitions counts the grants and releases of all clients but n: a broken recipe may return from a call
// while its request is held.
func (p *episodeRun) transitions(n int) (all int64) {
	for _, c := range p.st.Clients {
		if c.Number != n {
			all += c.Transitions.Load()
		}
	}
	return all
}

// idlePolls is the number of successive polls that must show the same counts for a client to be idle, and
// clientIdleLimit bounds the wait for that. A client that polls, or whose request is held, is never idle.
const (
	idlePolls       = 12
	clientIdleLimit = 300 * time.Millisecond
)

const requestLimit = 2 * time.Second

// awaitRequest waits, within requestLimit, until client i has sent a request. A separate process needs time,
// in which a client that is called later could join the queue first.
func (p *episodeRun) awaitRequest(i int, before int64) {
	_ = stage.Poll(p.ctx, requestLimit, func(context.Context) (bool, error) {
		a := p.lastAttempt(i)
		return p.isDelayed(i) || a != nil && a.HasReturned() || p.requestCount(i) > before, nil
	})
	p.must(context.Cause(p.ctx))
}

func (p *episodeRun) requestCount(i int) int64 { return p.st.Clients[i].Wire.Counts().Requests.Total() }

func (p *episodeRun) awaitIdle(i int) {
	still := stage.IdleDetector{Polls: stage.IdlePolls - idlePolls}
	_ = stage.Poll(p.ctx, clientIdleLimit, func(context.Context) (bool, error) {
		if a := p.lastAttempt(i); p.isDelayed(i) || a != nil && a.HasReturned() {
			return true, nil
		}
		return still.Observe(p.st.Clients[i].Wire.Counts()), nil
	})
	p.must(context.Cause(p.ctx))
}

// manyRequests is the number of requests after which a waiting client is not expected to become idle.
const manyRequests = 200

func (p *episodeRun) awaitIdleOrPolling(i int) {
	w := p.st.Clients[i].Wire
	before := w.Counts().Requests.Total()
	var still stage.IdleDetector
	_ = stage.Poll(p.ctx, grantLimit, func(context.Context) (bool, error) { // after the limit, the episode continues
		now := w.Counts()
		return still.Observe(now) || now.Requests.Total()-before > manyRequests, nil
	})
	p.must(context.Cause(p.ctx))
}

// awaitAllIdleOrPolling waits for every client that no active fault delays.
func (p *episodeRun) awaitAllIdleOrPolling() {
	for k := range p.st.Clients {
		if !p.isDelayed(k) {
			p.awaitIdleOrPolling(k)
		}
	}
}

// itemsPut is the number of items a producer puts for both consumers, and again at the end.
const itemsPut = 2

// deliverItems makes a producer put items one after the other: the first while only one consumer takes,
// so that no other consumer takes an item that it missed, then more for both consumers.
func (p *episodeRun) deliverItems() {
	var consumers sync.WaitGroup
	defer consumers.Wait()
	defer p.stop()
	leave := make([]func(), len(p.st.Clients)) // ends a consumer's takes
	join := func(i int) {
		ctx, cancel := context.WithCancel(p.calls)
		done := make(chan struct{})
		leave[i] = func() { cancel(); <-done }
		before := p.requestCount(i)
		consumers.Go(func() { defer close(done); p.takeRepeatedly(ctx, i) })
		p.awaitRequest(i, before)
		p.awaitIdle(i)
	}
	join(1)
	p.putOne()
	p.must(p.st.WaitQueueEmpty(p.ctx, p.stuckLimit()))
	join(2)
	p.letWait(p.st.Clients[1:])
	for range itemsPut * p.rounds() {
		if p.putOne(); !p.hasPendingFault() && p.rounds() > 1 {
			break
		}
	}
	p.awaitFaultsOver()
	if hit, other := p.affectedConsumer(); hit > 0 { // without the other consumer, which would take the missed item
		leave[other]()
		p.putOne()
		p.must(p.st.WaitQueueEmpty(p.ctx, p.stuckLimit()))
		join(other)
	}
	for range itemsPut { // one more for every consumer
		p.putOne()
	}
	p.must(p.st.WaitQueueEmpty(p.ctx, p.stuckLimit()))
}

// affectedConsumer returns the consumer that the episode's fault affected, and the other one; 0 if the fault
// affected the producer, both or none.
func (p *episodeRun) affectedConsumer() (hit, other int) {
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

const backlogItems = 6

// deliverBacklog lets both consumers take items that were put before they began, and then more.
func (p *episodeRun) deliverBacklog() {
	var consumers sync.WaitGroup
	defer consumers.Wait()
	defer p.stop()
	for range backlogItems * p.rounds() {
		p.putOne()
	}
	for i := range p.st.Clients[1:] {
		consumers.Go(func() { p.takeRepeatedly(p.calls, i+1) })
	}
	p.must(p.st.WaitQueueEmpty(p.ctx, p.stuckLimit()))
	p.awaitFaultsOver()
	for range itemsPut {
		p.putOne()
	}
	p.must(p.st.WaitQueueEmpty(p.ctx, p.stuckLimit()))
}

func (p *episodeRun) putOne() {
	c := p.st.Clients[0]
	if !p.ensureOpen(p.ctx, 0) {
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

func (p *episodeRun) takeRepeatedly(ctx context.Context, i int) {
	for ctx.Err() == nil && p.ensureOpen(ctx, i) {
		p.calling(i, spec.CallTake)
		a := p.startAttempt(i)
		if stage.Await(ctx, a.Done) != nil {
			a.Cancel()
			<-a.Done
		}
		if a.Err != nil {
			a.Client.RecoverAfter(ctx, a.Err)
		}
	}
}

func calm(p *episodeRun) {
	var transcripts []*wire.Transcript
	for _, c := range p.st.Clients {
		transcripts = append(transcripts, c.Wire.Record())
	}
	p.episode(nil)
	var seen []spec.SeenStep
	for i, role := range spec.RolesOf(p.st.Cell.Subject)[:spec.EpisodeClients] {
		seen = append(seen, StepsOf(role, transcripts[i].Frames(), p.madeCalls[i])...)
	}
	if w := p.st.Watch; w != nil && w.Add(seen, p.st.Cell.Subject) {
		for _, r := range w.Records(p.st.Cell.Subject) {
			r.At = p.st.Clock.Now()
			p.st.Record.Record(r)
		}
	}
}
