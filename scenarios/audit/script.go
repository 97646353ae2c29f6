package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/phases"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// episodeRun is a running script. Its methods are the steps of scripts; must ends a script when a step fails.
type episodeRun struct {
	st    *stage.Stage
	ctx   context.Context
	calls context.Context
	stop  context.CancelFunc // cancels every acquire in progress

	injections []*stepInjection // faults that wait for their step, in an episode
	released   atomic.Int64     // releases that have returned

	mu        sync.Mutex
	begun     []*stage.Attempt  // by all clients
	madeCalls [][]spec.SeenStep // the calls of each client
	served    []bool            // by client: it has held and released, and is free for another acquire
	acting    []time.Duration   // by client: start of the grant that it is releasing or that a fault hit, or 0
}

// Limits of a script, far above the needs of a sound recipe.
const (
	scriptLimit = 40 * time.Second // for the script; includes the restart of a member
	grantLimit  = 10 * time.Second // for a grant that is not blocked
	idleLimit   = time.Second      // for a line without activity
)

type scriptError struct{ error }

// must ends the script if err is not nil. It must be called by the script's own goroutine.
func (p *episodeRun) must(err error) {
	if err != nil {
		panic(scriptError{err})
	}
}

func (p *episodeRun) runScript(script func(*episodeRun)) (err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case scriptError:
			err = why.error
		default:
			panic(why)
		}
	}()
	script(p)
	return nil
}

func (p *episodeRun) cancelAttempts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.st.CancelAttempts(p.stop, p.begun)
}

func (p *episodeRun) startAttempt(i int) *stage.Attempt {
	a := p.st.Clients[i].StartAttempt(p.calls)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = append(p.begun, a)
	return a
}

func (p *episodeRun) lastAttempt(i int) *stage.Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range slices.Backward(p.begun) {
		if a.Client.Number == i {
			return a
		}
	}
	return nil
}

// acquireFree lets client i acquire, which must succeed unless its session ends, and write as the holder.
func (p *episodeRun) acquireFree(i int) *stage.Attempt {
	for {
		a := p.startAttempt(i)
		switch {
		case !a.AwaitReturn(p.ctx, grantLimit):
			p.must(fmt.Errorf("client %d did not acquire the free lock within %v", i, grantLimit))
		case errors.Is(a.Err, recipes.ErrSessionEnded): // a slow machine, or servers that do not reply in time
			p.must(a.Client.Reopen(p.ctx))
		case a.Err != nil:
			p.must(fmt.Errorf("client %d did not acquire the free lock: %w", i, a.Err))
		default:
			p.writeAndCheck(a)
			return a
		}
	}
}

// writeAndCheck does the work of a holder: it writes to the resource, and the harness checks its node. A holder
// that was notified of the end of its grant does nothing.
func (p *episodeRun) writeAndCheck(a *stage.Attempt) {
	if a.Client.IsOver(a.Claim.Token) {
		return
	}
	a.Write(p.ctx)
	a.Client.Check(p.ctx, a.Claim)
}

// releaseTries is the number of times that a holder tries to release, in 300 ms: go-zookeeper fails
// requests while it detects that its connection is closed, which may happen twice.
const releaseTries = 6

// releaseGrant releases, and retries after an error, as applications do. The snapshot shows a node left behind.
func (p *episodeRun) releaseGrant(a *stage.Attempt) {
	p.setActing(a.Client.Number, a.ReturnedAt)
	defer p.setActing(a.Client.Number, 0)
	defer p.released.Add(1)
	defer a.Client.Transitions.Add(1)
	tries := releaseTries
	if p.st.IsBarrier() { // its release waits for the others
		tries = 1
	}
	for try := range tries {
		err := a.Release(p.ctx)
		if err == nil || errors.Is(err, recipes.ErrGrantLost) || errors.Is(err, recipes.ErrSessionEnded) {
			return
		}
		_ = stage.Pause(p.ctx, 10*time.Millisecond<<try)
	}
}

// awaitLine waits until n nodes are in line and all clients are idle. If the clients do not become idle, it
// returns all the same. It returns the number of nodes, which is less than n if some waiters have none. The cell is
// inapplicable to a recipe whose waiters have no nodes.
func (p *episodeRun) awaitLine(n int) (nodes int) {
	err := p.st.AwaitInLine(p.ctx, n, grantLimit)
	if err == nil || errors.Is(err, stage.ErrPollLimit) {
		var lookErr error
		if nodes, _, lookErr = p.st.Observer.InLine(p.ctx, p.st.Parent); lookErr != nil {
			nodes = n
		}
		free := p.st.NonWaiterCount()
		if waiting := p.st.Acquiring(); lookErr == nil && n == len(p.st.Clients) && nodes <= free && waiting >= n-free {
			err = fmt.Errorf("%w: %d clients wait, but the line has %s: the recipe does not queue its waiters", ErrInapplicable, waiting, units.Plural(nodes, "node"))
		}
	}
	p.must(err)
	var idle stage.IdleDetector
	_ = stage.Poll(p.ctx, idleLimit, func(context.Context) (bool, error) { return idle.Observe(p.st.Tap.Totals()), nil })
	p.must(context.Cause(p.ctx))
	return nodes
}

func (p *episodeRun) writeWhileHolding(a *stage.Attempt, limit time.Duration) {
	until := time.Now().Add(limit)
	for !a.InDoubt() && time.Now().Before(until) && p.ctx.Err() == nil {
		a.Write(p.ctx)
		_ = stage.Pause(p.ctx, phases.WriteEvery)
	}
}

// stuckLimit is the time for which a line may be without a grant before it counts as stuck.
func (p *episodeRun) stuckLimit() time.Duration { return p.st.Scenario.SessionTimeout + 3*time.Second }

// Time for which a holder continues to act after a fault: normally, and if its session has ended,
// of which the holder should be notified within a second.
const (
	actDuration          = 400 * time.Millisecond
	actDurationAfterLoss = 1500 * time.Millisecond
)

// holdGrant lets a client hold its grant and write; a fault may be injected meanwhile. sure is true if the client
// may release, false if the client was notified that its grant is lost, or its process was killed.
func (p *episodeRun) holdGrant(ctx context.Context, a *stage.Attempt) (sure bool, err error) {
	p.writeAndCheck(a)
	session := a.Client.Wire.Session().ID
	if x := p.calling(a.Client.Number, spec.CallHold); x != nil {
		p.setActing(a.Client.Number, a.ReturnedAt)
		if err := stage.Await(ctx, x.over); err != nil {
			return false, err
		}
		if x.killed {
			return false, nil
		}
		if !p.st.IsBarrier() {
			p.challenge(ctx, a, session)
		}
	} else if err := stage.Pause(ctx, p.st.Phase.Hold); err != nil {
		return false, err
	}
	if !p.st.IsBarrier() {
		p.awaitEarlierHolders(ctx, a)
	}
	err = stage.Poll(ctx, p.stuckLimit(), func(context.Context) (bool, error) {
		return !a.InDoubt() || a.Client.IsOver(a.Claim.Token), nil
	})
	if err != nil {
		return false, fmt.Errorf("the grant of client %d was suspended, and then neither restored nor lost: %w", a.Client.Number, err)
	}
	return !a.Client.HasLost(a.Claim.Token), nil
}

func (p *episodeRun) awaitEarlierHolders(ctx context.Context, a *stage.Attempt) {
	before := p.earlierHolders(a.ReturnedAt)
	_ = stage.Poll(ctx, p.stuckLimit()-time.Second, func(context.Context) (bool, error) { return len(p.earlierHolders(a.ReturnedAt)) == 0, nil })
	if slices.ContainsFunc(p.injections, func(x *stepInjection) bool { return x.begun.Load() && slices.Contains(before, x.c.Number) }) {
		_ = stage.Pause(ctx, actDuration)
	}
}

// challenge lets a holder write after a fault, for as long as the holder believes that it holds, once it is connected
// again, while another client tries to acquire. session is the holder's session before the fault.
func (p *episodeRun) challenge(ctx context.Context, a *stage.Attempt, session int64) {
	acts := actDuration
	_ = stage.Poll(ctx, p.stuckLimit(), func(context.Context) (bool, error) {
		s := a.Client.Wire.Session()
		if s.Expired || s.ID != session {
			acts = actDurationAfterLoss
			return true, nil
		}
		return s.Server != "" || a.Client.IsOver(a.Claim.Token), nil
	})
	var other sync.WaitGroup
	defer other.Wait()
	if i := p.takeServed(); i >= 0 && p.ensureOpen(ctx, i) {
		b := p.startAttempt(i)
		other.Go(func() {
			if b.AwaitReturn(ctx, actDuration) && b.Err == nil {
				p.writeAndCheck(b)
				_ = stage.Pause(ctx, actDuration/2)
				p.releaseGrant(b)
				p.setServed(i)
			}
		})
	}
	p.writeWhileHolding(a, acts)
}

// restAfterGivingUp is the time for which a client does not acquire again after its acquire has reached its time limit
// or was canceled: longer than verdicts allow its node to remain, so that they need not assume that the next acquire
// takes the node over.
func (p *episodeRun) restAfterGivingUp() time.Duration {
	return max(2*time.Second, p.st.Scenario.SessionTimeout) + flapDuration
}

// setServed records that client i has held and released, and makes no other call by itself.
func (p *episodeRun) setServed(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served[i] = true
}

// takeServed returns a client for which setServed was called since it was last taken; -1 if there is none. A client
// that still releases must not acquire: a driver makes one call of a client at a time.
func (p *episodeRun) takeServed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.served, true)
	if i >= 0 {
		p.served[i] = false
	}
	return i
}

func (p *episodeRun) ensureOpen(ctx context.Context, i int) bool {
	c := p.st.Clients[i]
	return c.IsOpen() || c.Reopen(ctx) == nil
}

// serveAll lets every client hold and release. stuck means that no client made progress.
func (p *episodeRun) serveAll() (stuck bool) {
	if p.st.IsBarrier() {
		return p.passBarrier()
	}
	ctx, cancel := context.WithCancel(p.ctx)
	finished := make(chan struct{}, len(p.st.Clients))
	var calls sync.WaitGroup
	for i := range p.st.Clients {
		calls.Go(func() {
			if !p.serveOne(ctx, i) {
				return
			}
			finished <- struct{}{}
			if !p.st.Cell.Subject.Promises.Requeues {
				p.setServed(i)
				return
			}
			for p.serveOne(ctx, i) { // the client is in line again, and would delay the others
			}
		})
	}
	defer calls.Wait()
	defer cancel()
	limit, extended := p.stuckLimit(), false
	for n := 0; n < len(p.st.Clients); {
		select {
		case <-finished:
			n++
		case <-time.After(limit):
			if extended || !p.hasUnreturnedLoss() && !p.hasFailingClient() {
				return true
			}
			limit, extended = afterLossLimit, true
		case <-ctx.Done():
			return true
		}
	}
	return false
}

// afterLossLimit is the additional time for clients of drivers that are silent after a loss: long enough
// for the driver's host to tell a stuck driver from a sleeping retry policy. A client whose acquires
// fail also gets this time: only then is it certain that the fault is no longer the reason.
const afterLossLimit = 10 * time.Second

func (p *episodeRun) hasFailingClient() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := make([]int, len(p.st.Clients))
	for _, a := range p.begun {
		if !a.HasReturned() || a.Err == nil {
			continue
		}
		failed[a.Client.Number]++
		if recipes.Indeterminate(a.Err) {
			return true
		}
	}
	return slices.Max(failed) > 2
}

func (p *episodeRun) hasUnreturnedLoss() bool {
	return p.st.Driven && slices.ContainsFunc(p.st.Clients, func(c *stage.Client) bool {
		e := c.LastEvent.Load()
		return c.Pending.Load() != nil && e != nil && e.Kind == recipes.EventLost
	})
}

// pendingAcquire returns the client's last acquire, or begins a new acquire if that has failed or is over. It returns
// nil if the client has no session.
func (p *episodeRun) pendingAcquire(ctx context.Context, i int) *stage.Attempt {
	a := p.lastAttempt(i)
	if a != nil && !a.Finished && (!a.HasReturned() || a.Err == nil) {
		return a
	}
	if a != nil && a.GaveUp() { // its node must be removed meanwhile
		_ = stage.Pause(ctx, a.ReturnedAt+p.restAfterGivingUp()-p.st.Clock.Now())
	}
	if !p.ensureOpen(ctx, i) {
		return nil
	}
	p.calling(i, spec.CallAcquire)
	return p.startAttempt(i)
}

func (p *episodeRun) serveOne(ctx context.Context, i int) bool {
	for ctx.Err() == nil {
		a := p.pendingAcquire(ctx, i)
		if a == nil || stage.Await(ctx, a.Done) != nil {
			return false
		}
		if a.Err != nil {
			a.Client.RecoverAfter(ctx, a.Err)
			continue
		}
		sure, err := p.holdGrant(ctx, a)
		if err != nil {
			p.setActing(i, 0)
			return false
		}
		if sure {
			p.releaseGrant(a)
			return true
		}
		p.setActing(i, 0)
		a.Finished, a.Err = true, recipes.ErrSessionEnded
		a.Client.RecoverAfter(ctx, a.Err)
	}
	return false
}

var scripts = map[string]func(*episodeRun){
	spec.FaultFreeCell: calm, "crowd": crowd, "wrapped-numbers": wrappedNumbers, "newcomers": newcomers, "line": drainLine, "backlog": putThenTake,
}

// crowd lets all clients contend for 1.5 s, and longer on a slow machine, until there were 40 grants.
func crowd(p *episodeRun) {
	ctx, cancel := context.WithTimeout(p.ctx, 6*time.Second)
	defer cancel()
	enough, before := time.Now().Add(1500*time.Millisecond), p.st.Grants.Load()
	_ = stage.Each(p.st.Clients, len(p.st.Clients), func(c *stage.Client) error {
		for ctx.Err() == nil {
			a := c.StartAttempt(ctx)
			if <-a.Done; a.Err != nil {
				return nil
			}
			until := time.Now().Add(p.st.Phase.Hold)
			p.writeAndCheck(a)
			_ = stage.Pause(p.ctx, time.Until(until))
			p.releaseGrant(a)
			if time.Now().After(enough) && p.st.Grants.Load()-before >= 40 {
				cancel()
			}
		}
		return nil
	})
}

// newcomers lets seven clients join behind a holder and give up, eight times. No holder should be notified.
func newcomers(p *episodeRun) {
	n := len(p.st.Clients)
	line := n
	for k := range n {
		for i := range n {
			p.ensureOpen(p.ctx, i)
		}
		holder := p.acquireFree(k)
		line = min(line, p.joinAndGiveUp(holder.Client, line)) // the missing nodes will not come in the next rounds either
		p.releaseGrant(holder)
		if p.st.Cell.Subject.Promises.Requeues { // the client is in line again, before the next holder
			p.must(holder.Client.Reopen(p.ctx))
		}
	}
}

// joinAndGiveUp lets all clients join behind the holder, and give up once all are in line. A client that loses its
// session joins again. It awaits n nodes in line, and returns how many came.
func (p *episodeRun) joinAndGiveUp(holder *stage.Client, n int) (nodes int) {
	newcomers := stage.NewWaiterGroup(p.calls, p.st)
	defer newcomers.CancelAndWait()
	newcomers.StartOthers(holder, true)
	nodes = p.awaitLine(n)
	newcomers.CancelAndWait()
	for range len(p.st.Clients) - 1 {
		if a := <-newcomers.Granted; a.Err == nil {
			p.releaseGrant(a)
		}
	}
	return nodes
}

func drainLine(p *episodeRun) {
	p.st.Round = 1
	p.must(phases.DrainOnce(p.ctx, p.st))
}

// wrappedNumbers is crowd with negative sequence numbers.
func wrappedNumbers(p *episodeRun) {
	p.st.Dial = wire.Renumber
	p.must(p.st.Renew(p.ctx))
	now := p.st.Clock.Now()
	p.st.Record.Record(&history.Window{Fault: "numbers.wrap", Target: "every client", Client: -1, Start: now, End: now,
		Proof: fmt.Sprintf("every sequence number from the servers is reduced by %d for the client", wire.Renumbered)})
	crowd(p)
}

func putThenTake(p *episodeRun) {
	for range 5 {
		_, _ = p.st.Clients[0].PutNext(p.ctx) // the history has the error
	}
	var consumer sync.WaitGroup
	defer consumer.Wait()
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	consumer.Go(func() { p.st.Clients[1].Consume(ctx, func(string) {}) })
	p.must(p.st.WaitQueueEmpty(p.ctx, grantLimit))
}

// generationTries is the maximum number of generations after a fault until one is passed by every client.
const generationTries = 5

// passBarrier runs generations, at most generationTries, until all clients have passed in one of them.
func (p *episodeRun) passBarrier() (stuck bool) {
	for range generationTries {
		if all, stuck := p.generation(); all || stuck {
			return stuck
		}
	}
	return true
}

// generation lets every client pass and leave. all means that every client left, stuck that none made progress.
func (p *episodeRun) generation() (all, stuck bool) {
	ctx, cancel := context.WithCancel(p.ctx)
	n := len(p.st.Clients)
	g := &barrierGeneration{leaving: make([]atomic.Bool, n), over: make(chan struct{})}
	closeOver := sync.OnceFunc(func() { close(g.over) })
	passed := make(chan bool, n) // for each client, whether it passed and left
	var members sync.WaitGroup
	for i := range p.st.Clients {
		members.Go(func() { passed <- p.passGeneration(ctx, g, i) })
	}
	defer members.Wait()
	defer cancel()
	all = true
	for ended := 0; ended < n; {
		patience := p.stuckLimit()
		if p.st.Driven { // a client whose outcome is unknown is closed after a while, and the others wait for it
			patience += afterLossLimit
		}
		if waiting := int(g.entering.Load()); ended > 0 && ended+waiting == n {
			patience = actDuration // the others belong to the next generation
		}
		select {
		case left := <-passed:
			all = all && left
			ended++
		case <-time.After(patience):
			if patience != actDuration {
				return false, true
			}
			if ended+int(g.entering.Load()) == n {
				closeOver()
			}
		case <-ctx.Done():
			return false, true
		}
	}
	return all, false
}

// passGeneration makes client i pass and leave, unless it belongs to the next generation or lost its session.
func (p *episodeRun) passGeneration(ctx context.Context, g *barrierGeneration, i int) bool {
	for ctx.Err() == nil {
		a := p.pendingAcquire(ctx, i)
		if a == nil {
			return false
		}
		g.entering.Add(1)
		select {
		case <-a.Done:
		case <-g.over:
		case <-ctx.Done():
		}
		g.entering.Add(-1)
		if !a.HasReturned() {
			return false
		}
		if a.Err != nil {
			a.Client.RecoverAfter(ctx, a.Err)
			if g.passed.Load() {
				return false
			}
			continue
		}
		g.passed.Store(true)
		sure, err := p.holdGrant(ctx, a)
		if err == nil && sure {
			p.awaitEarlierLeave(ctx, g, i)
			g.leaving[i].Store(true)
			p.releaseGrant(a)
			return true
		}
		a.Finished, a.Err = true, recipes.ErrSessionEnded
		a.Client.HasGrant.Store(false)
		a.Client.RecoverAfter(ctx, a.Err)
		return false
	}
	return false
}

// leaveOrder is the order in which clients leave: the second one first, so that the first waits for the last.
var leaveOrder = []int{1, 0, 2}

// awaitEarlierLeave waits, within a limit, until the client that leaves before client i waits for the
// others: the steps of calm episodes are then the same.
func (p *episodeRun) awaitEarlierLeave(ctx context.Context, g *barrierGeneration, i int) {
	k := slices.Index(leaveOrder, i)
	if k < 1 {
		return
	}
	before := leaveOrder[k-1]
	still := stage.IdleDetector{Polls: stage.IdlePolls - idlePolls}
	_ = stage.Poll(ctx, clientIdleLimit, func(context.Context) (bool, error) {
		return g.leaving[before].Load() && still.Observe(p.st.Clients[before].Wire.Counts()), nil
	})
}

type barrierGeneration struct {
	leaving  []atomic.Bool // by client: it has called leave
	entering atomic.Int64  // clients that wait for the others
	passed   atomic.Bool   // a client has passed
	over     chan struct{} // closed when the remaining waiters belong to the next generation
}
