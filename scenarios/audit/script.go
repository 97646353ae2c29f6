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

// episodeRun is a running script. Its methods are the steps of scripts; must ends a script when a
// step fails.
type episodeRun struct {
	st    *stage.Stage
	ctx   context.Context
	calls context.Context
	stop  context.CancelFunc // cancels every acquire in progress

	injections []*stepInjection // faults that wait for their step, in an episode
	course     episodeLog

	mu    sync.Mutex
	begun []*stage.Attempt // by all clients
}

// Limits of a script, far above the needs of a sound recipe.
const (
	provokeLimit = 40 * time.Second // for the whole script; a member that was killed must be back
	grantLimit   = 10 * time.Second // for a grant that is not blocked
	stillLimit   = time.Second      // for a line without activity
)

type scriptError struct{ error }

// must ends the script if err is not nil. It must be called by the script's own goroutine.
func (p *episodeRun) must(err error) {
	if err != nil {
		panic(scriptError{err})
	}
}

func (p *episodeRun) play(script func(*episodeRun)) (err error) {
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

func (p *episodeRun) callOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.st.CancelAttempts(p.stop, p.begun)
}

func (p *episodeRun) begin(i int) *stage.Attempt {
	a := p.st.Clients[i].StartAttempt(p.calls)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = append(p.begun, a)
	return a
}

func (p *episodeRun) last(i int) *stage.Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range slices.Backward(p.begun) {
		if a.Client.Number == i {
			return a
		}
	}
	return nil
}

// first lets client i acquire, which must succeed, and write as the holder.
func (p *episodeRun) first(i int) *stage.Attempt {
	a := p.begin(i)
	if !a.AwaitReturn(p.ctx, grantLimit) {
		p.must(fmt.Errorf("client %d did not acquire the free lock within %v", i, grantLimit))
	}
	if a.Err != nil {
		p.must(fmt.Errorf("client %d did not acquire the free lock: %w", i, a.Err))
	}
	p.act(a)
	return a
}

// act does the work of a holder: it writes to the resource, and the harness checks its node. A holder
// that was notified of the loss of its grant does nothing.
func (p *episodeRun) act(a *stage.Attempt) {
	if a.Client.HasLost(a.Claim.Token) {
		return
	}
	a.Write(p.ctx)
	a.Client.Check(p.ctx, a.Claim)
}

// releaseTries is the number of times that a holder tries to release, in 300 ms: go-zookeeper fails
// requests while it detects that its connection is closed, which may happen twice.
const releaseTries = 6

// release releases, and retries after an error, as applications do. A node that is left behind
// appears in the snapshot.
func (p *episodeRun) release(a *stage.Attempt) {
	p.course.markActing(a.Client.Number, a.ReturnedAt)
	defer p.course.clearActing(a.Client.Number)
	defer p.course.released.Add(1)
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

// inLine waits until n nodes are in line and all clients are idle. If they do not become idle it
// gives up without an error. It does nothing for a recipe whose waiters have no nodes.
func (p *episodeRun) inLine(n int) {
	err := p.st.AwaitInLine(p.ctx, n, grantLimit)
	if err == nil || errors.Is(err, stage.ErrPollLimit) {
		nodes, look := p.st.Observer.InLine(p.ctx, p.st.Parent)
		free := p.st.NonWaiterCount()
		if waiting := p.st.Acquiring(); look == nil && nodes <= free && waiting >= n-free {
			err = fmt.Errorf("%w: %d clients wait, but the line has %s: the recipe does not queue its waiters", ErrInapplicable, waiting, units.Plural(nodes, "node"))
		}
	}
	p.must(err)
	_ = p.st.AwaitQuiet(p.ctx, stillLimit)
	p.must(context.Cause(p.ctx))
}

// writeWhileHolding lets a holder write for as long as it believes that it holds, within a limit.
func (p *episodeRun) writeWhileHolding(a *stage.Attempt, limit time.Duration) {
	until := time.Now().Add(limit)
	for !a.InDoubt() && time.Now().Before(until) && p.ctx.Err() == nil {
		a.Write(p.ctx)
		_ = stage.Pause(p.ctx, phases.WriteEvery)
	}
}

// turnLimit is the time for which a line may be without a grant before it counts as stuck.
func (p *episodeRun) turnLimit() time.Duration { return p.st.Scenario.SessionTimeout + 3*time.Second }

// How long a holder continues to act after a fault hit it: normally, and if its session has ended,
// of which it should be notified within a second.
const (
	believeFor     = 400 * time.Millisecond
	believeLostFor = 1500 * time.Millisecond
)

// hold lets a client hold its grant: it acts, and a fault may be injected. It returns true if the client may
// release, false if the client was notified that its grant is lost, or its process was killed.
func (p *episodeRun) hold(ctx context.Context, a *stage.Attempt) (sure bool, err error) {
	p.act(a)
	session := a.Client.Wire.Session().ID
	if x := p.calling(a.Client.Number, spec.CallHold); x != nil {
		p.course.markActing(a.Client.Number, a.ReturnedAt)
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
	err = stage.Poll(ctx, p.turnLimit(), func(context.Context) (bool, error) {
		return !a.InDoubt() || a.Client.HasLost(a.Claim.Token), nil
	})
	if err != nil {
		return false, fmt.Errorf("the grant of client %d was suspended, and then neither restored nor lost: %w", a.Client.Number, err)
	}
	return !a.InDoubt(), nil
}

func (p *episodeRun) awaitEarlierHolders(ctx context.Context, a *stage.Attempt) {
	before := p.course.before(a.ReturnedAt)
	_ = stage.Poll(ctx, p.turnLimit()-time.Second, func(context.Context) (bool, error) { return len(p.course.before(a.ReturnedAt)) == 0, nil })
	if slices.ContainsFunc(p.injections, func(x *stepInjection) bool { return x.begun.Load() && slices.Contains(before, x.c.Number) }) {
		_ = stage.Pause(ctx, believeFor)
	}
}

// challenge lets a holder that a fault hit act for as long as it believes that it holds, once it is connected
// again, while another client tries to acquire. session is its session before the fault.
func (p *episodeRun) challenge(ctx context.Context, a *stage.Attempt, session int64) {
	acts := believeFor
	_ = stage.Poll(ctx, p.turnLimit(), func(context.Context) (bool, error) {
		s := a.Client.Wire.Session()
		if s.Expired || s.ID != session {
			acts = believeLostFor
			return true, nil
		}
		return s.Server != "" || a.Client.HasLost(a.Claim.Token), nil
	})
	var other sync.WaitGroup
	defer other.Wait()
	for i := range p.st.Clients {
		if b := p.last(i); b != nil && b.Finished && i != a.Client.Number && p.ready(ctx, i) {
			b = p.begin(i)
			other.Go(func() {
				if b.AwaitReturn(ctx, believeFor) && b.Err == nil {
					p.act(b)
					_ = stage.Pause(ctx, believeFor/2)
					p.release(b)
				}
			})
			break
		}
	}
	p.writeWhileHolding(a, acts)
}

func (p *episodeRun) ready(ctx context.Context, i int) bool {
	c := p.st.Clients[i]
	return c.IsOpen() || c.Reopen(ctx) == nil
}

// allTurn lets every client complete a turn: waiters are granted, the others join first. It
// returns true if no client made progress.
func (p *episodeRun) allTurn() (stuck bool) {
	if p.st.IsBarrier() {
		return p.passTogether()
	}
	ctx, cancel := context.WithCancel(p.ctx)
	finished := make(chan struct{}, len(p.st.Clients))
	var turns sync.WaitGroup
	for i := range p.st.Clients {
		turns.Go(func() {
			if p.oneTurn(ctx, i) {
				finished <- struct{}{}
				for p.st.Cell.Subject.Promises.Requeues && p.oneTurn(ctx, i) { // it is in line again, and would keep the others waiting
				}
			}
		})
	}
	defer turns.Wait()
	defer cancel()
	patient := false
	for n := 0; n < len(p.st.Clients); {
		limit := p.turnLimit()
		if patient {
			limit = lostLimit
		}
		select {
		case <-finished:
			n++
		case <-time.After(limit):
			if patient || !p.lostInside() && !p.failing() {
				return true
			}
			patient = true
		case <-ctx.Done():
			return true
		}
	}
	return false
}

// lostLimit is the additional time for clients of drivers that are silent after a loss: long enough
// for the driver's host to tell a stuck driver from a sleeping retry policy. A client whose acquires
// fail gets it too: only then is it certain that the fault is no longer the reason.
const lostLimit = 10 * time.Second

// failing reports whether more than two acquires of a client have failed.
func (p *episodeRun) failing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := make([]int, len(p.st.Clients))
	for _, a := range p.begun {
		if a.HasReturned() && a.Err != nil {
			failed[a.Client.Number]++
		}
	}
	return slices.Max(failed) > 2
}

// lostInside reports whether a client in another process has lost its session during an operation
// that has not returned.
func (p *episodeRun) lostInside() bool {
	return p.st.Driven && slices.ContainsFunc(p.st.Clients, func(c *stage.Client) bool {
		e := c.LastEvent.Load()
		return c.Pending.Load() != nil && e != nil && e.Kind == recipes.EventLost
	})
}

// pending returns the client's last acquire, or begins a new acquire if that has failed or is over. It returns
// nil if the client has no session.
func (p *episodeRun) pending(ctx context.Context, i int) *stage.Attempt {
	if a := p.last(i); a != nil && !a.Finished && (!a.HasReturned() || a.Err == nil) {
		return a
	}
	if !p.ready(ctx, i) {
		return nil
	}
	p.calling(i, spec.CallAcquire)
	return p.begin(i)
}

func (p *episodeRun) oneTurn(ctx context.Context, i int) bool {
	for ctx.Err() == nil {
		a := p.pending(ctx, i)
		if a == nil {
			return false
		}
		if stage.Await(ctx, a.Done) != nil {
			return false
		}
		if a.Err != nil {
			a.Client.RecoverAfter(ctx, a.Err)
			continue
		}
		sure, err := p.hold(ctx, a)
		if err != nil {
			p.course.clearActing(i)
			return false
		}
		if sure {
			p.release(a)
			return true
		}
		a.Finished, a.Err = true, recipes.ErrSessionEnded
		p.course.clearActing(i)
		a.Client.RecoverAfter(ctx, a.Err)
	}
	return false
}

var scripts = map[string]func(*episodeRun){
	spec.CalmName: calm, "crowd": crowd, "wrapped-numbers": wrappedNumbers, "newcomers": newcomers, "line": standInLine, "backlog": putThenTake,
}

// crowd lets all clients contend for a while, and for a minimum of grants on a slow machine.
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
			p.act(a)
			_ = stage.Pause(p.ctx, time.Until(until))
			p.release(a)
			if time.Now().After(enough) && p.st.Grants.Load()-before >= 40 {
				cancel()
			}
		}
		return nil
	})
}

// newcomers lets seven clients join behind a holder and give up, eight times. The holders should
// not be notified.
func newcomers(p *episodeRun) {
	n := len(p.st.Clients)
	for k := range n {
		holder := p.first(k)
		for i := range n {
			if i != k {
				p.begin(i)
			}
		}
		p.inLine(n)
		for i := range n {
			if i != k {
				p.last(i).Cancel()
			}
		}
		for i := range n {
			if a := p.last(i); a != holder {
				if <-a.Done; a.Err == nil {
					p.release(a)
				}
			}
		}
		p.release(holder)
		if p.st.Cell.Subject.Promises.Requeues { // it is in line again, before the next holder
			p.must(holder.Client.Reopen(p.ctx))
		}
	}
}

// standInLine drains a full line once and counts the cost.
func standInLine(p *episodeRun) {
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

// putThenTake puts five items and takes them.
func putThenTake(p *episodeRun) {
	for range 5 {
		_, _ = p.st.Clients[0].PutNext(p.ctx) // the history has the error
	}
	taking, stop := context.WithCancel(p.ctx)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		p.st.Clients[1].Consume(taking, func(string) {})
	}()
	defer func() { stop(); <-taken }()
	p.must(p.st.WaitQueueEmpty(p.ctx, grantLimit))
}

// generationTries bounds the generations in which every client must pass once more after a fault.
const generationTries = 5

// passTogether runs generations until all clients have passed in one of them. It returns true if no client made
// progress, or after generationTries.
func (p *episodeRun) passTogether() (stuck bool) {
	for range generationTries {
		all, stuck := p.generation()
		if all || stuck {
			return stuck
		}
	}
	return true
}

// generation lets every client pass and leave. all reports whether every client did, stuck whether none progressed.
func (p *episodeRun) generation() (all, stuck bool) {
	ctx, cancel := context.WithCancel(p.ctx)
	n := len(p.st.Clients)
	g := &passing{leaving: make([]atomic.Bool, n), over: make(chan struct{}), ended: make(chan bool, n)}
	var members sync.WaitGroup
	for i := range p.st.Clients {
		members.Go(func() { g.ended <- p.member(ctx, g, i) })
	}
	defer members.Wait()
	defer cancel()
	all = true
	for ended := 0; ended < n; {
		patience := p.turnLimit()
		if p.st.Driven { // a client whose outcome is unknown is closed after a while, and the others wait for it
			patience += lostLimit
		}
		if waiting := int(g.entering.Load()); ended > 0 && ended+waiting == n {
			patience = believeFor // the others were too late for this generation
		}
		select {
		case left := <-g.ended:
			all = all && left
			ended++
		case <-time.After(patience):
			if patience != believeFor {
				return false, true
			}
			if ended+int(g.entering.Load()) == n {
				g.end.Do(func() { close(g.over) })
			}
		case <-ctx.Done():
			return false, true
		}
	}
	return all, false
}

// member makes client i pass and leave in a generation. It reports whether the client did; false
// means that it waits for the next generation, or lost its session.
func (p *episodeRun) member(ctx context.Context, g *passing, i int) bool {
	for ctx.Err() == nil {
		a := p.pending(ctx, i)
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
		sure, err := p.hold(ctx, a)
		if err == nil && sure {
			p.awaitDeparture(ctx, g, i)
			g.leaving[i].Store(true)
			p.release(a)
			return true
		}
		a.Finished, a.Err = true, recipes.ErrSessionEnded
		a.Client.HasGrant.Store(false)
		a.Client.RecoverAfter(ctx, a.Err)
		return false
	}
	return false
}

// departures is the order in which three members leave: the second first, so that the first one waits
// for the last.
var departures = []int{1, 0, 2}

// awaitDeparture waits, within a limit, until the client that leaves before client i waits for the
// others: the steps of calm episodes are then the same.
func (p *episodeRun) awaitDeparture(ctx context.Context, g *passing, i int) {
	k := slices.Index(departures, i)
	if k < 1 {
		return
	}
	before := departures[k-1]
	still := stage.IdleDetector{Polls: stage.StillPolls - quietFor}
	_ = stage.Poll(ctx, restLimit, func(context.Context) (bool, error) {
		return g.leaving[before].Load() && still.Observe(p.st.Clients[before].Wire.Counts()), nil
	})
}

// passing is a generation in progress.
type passing struct {
	leaving  []atomic.Bool // by client: it has called leave
	entering atomic.Int64  // clients that wait for the others
	passed   atomic.Bool   // a client has passed
	over     chan struct{} // closed when the clients that still wait belong to the next generation
	end      sync.Once
	ended    chan bool // whether a client passed and left
}
