package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// A barrier has as many parties as a trial has clients: they enter together and leave together.
func (st *stage) barrier() bool { return st.cell.Subject.Recipe == recipes.RecipeBarrier }

// awaitOthersOut waits, within a limit, until no other client is inside the barrier: in the
// documentation's recipe the node of a client that enters again keeps them from leaving.
func (c *client) awaitOthersOut(ctx context.Context) {
	_ = poll(ctx, c.st.patience(), func(context.Context) (bool, error) { return !c.st.insideBarrier(c), nil })
}

// insideBarrier reports whether a client, other than this one, has passed the barrier and has not
// left it.
func (st *stage) insideBarrier(but *client) bool {
	for _, c := range st.clients {
		if c != but && c.inside.Load() {
			return true
		}
	}
	return false
}

// gatherOnce is the drain of a barrier: a generation whose members enter and leave one after the
// other. Counted is the traffic since all but the last have entered.
func gatherOnce(ctx context.Context, st *stage) error {
	st.counting.Store(true)
	defer st.counting.Store(false)
	quiet, err := st.newQuietWait(ctx, false) // the members' watches do not show that all wait: a member has several
	if err != nil {
		return err
	}
	d := &drained{quietWait: quiet, began: st.clock.Now()}
	calls, giveUp := context.WithCancel(ctx)
	var members []*attempt
	defer func() {
		st.waiting()
		giveUp()
		for _, a := range members {
			<-a.done
		}
	}()
	n := len(st.clients)
	for i, c := range st.clients {
		if i == n-1 {
			if d.base, err = d.still(ctx); err != nil {
				return err
			}
		}
		members = append(members, c.begin(calls))
		if i < n-1 {
			if err := st.inLine(ctx, i+1, joinLimit); err != nil {
				return err
			}
		}
	}
	for _, a := range members {
		if !a.returned(ctx, st.patience()) {
			_ = st.snapshotStuck(ctx)
			return fmt.Errorf("client %d did not pass the barrier within %v, though all had entered", a.c.n, st.patience())
		}
		if a.err != nil {
			return fmt.Errorf("client %d: %w", a.c.n, a.err)
		}
	}
	if err := pause(ctx, st.phase.Hold); err != nil {
		return err
	}
	left := make(chan error, n)
	for i, a := range members {
		st.report("round %d of %d, %d of %d", st.round, st.phase.Rounds, i+1, n)
		if _, err := d.still(ctx); err != nil {
			return err
		}
		go func() { left <- a.release(ctx) }()
	}
	for range n {
		if failed := <-left; failed != nil {
			err = failed
		}
	}
	if err != nil {
		return err
	}
	now, err := d.still(ctx)
	if err != nil {
		return err
	}
	return d.record(n, now)
}

// generationTries bounds the generations in which every client must pass once more after a fault.
const generationTries = 5

// passTogether lets generations pass until one has had all clients from its beginning to its end. It
// returns true if no client made progress.
func (p *episodeRun) passTogether() (stuck bool) {
	for range generationTries {
		all, stuck := p.generation()
		if all || stuck {
			return stuck
		}
	}
	return true
}

// generation lets every client pass and leave. all reports whether every client did.
func (p *episodeRun) generation() (all, stuck bool) {
	ctx, cancel := context.WithCancel(p.ctx)
	n := len(p.st.clients)
	g := &passing{leaving: make([]atomic.Bool, n), over: make(chan struct{}), ended: make(chan bool, n)}
	var members sync.WaitGroup
	for i := range p.st.clients {
		members.Go(func() { g.ended <- p.member(ctx, g, i) })
	}
	defer members.Wait()
	defer cancel()
	all = true
	for ended := 0; ended < n; {
		patience := p.turnLimit()
		if p.st.driven { // a client whose outcome is unknown is closed after a while, and the others wait for it
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

// Member is a client's part in a generation. It reports whether the client passed and left; false
// means that it waits for the next generation, or lost its session.
func (p *episodeRun) member(ctx context.Context, g *passing, i int) bool {
	for ctx.Err() == nil {
		a := p.pending(ctx, i)
		if a == nil {
			return false
		}
		g.entering.Add(1)
		select {
		case <-a.done:
		case <-g.over:
		case <-ctx.Done():
		}
		g.entering.Add(-1)
		if !a.ended() {
			return false
		}
		if a.err != nil {
			a.c.recoverAfter(ctx, a.err)
			if g.passed.Load() {
				return false
			}
			continue
		}
		g.passed.Store(true)
		sure, err := p.holds(ctx, a)
		if err == nil && sure {
			p.awaitDeparture(ctx, g, i)
			g.leaving[i].Store(true)
			p.letGo(a)
			return true
		}
		a.over, a.err = true, recipes.ErrSessionEnded
		a.c.inside.Store(false)
		a.c.recoverAfter(ctx, a.err)
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
	still := stillness{polls: stillPolls - quietFor}
	_ = poll(ctx, restLimit, func(context.Context) (bool, error) {
		return g.leaving[before].Load() && still.see(p.st.clients[before].wire.Counts()), nil
	})
}

// passing is a generation in progress.
type passing struct {
	leaving  []atomic.Bool // by client: it has called leave
	entering atomic.Int64  // clients that wait for the others
	passed   atomic.Bool   // one has passed
	over     chan struct{} // closed when those that still wait belong to the next generation
	end      sync.Once
	ended    chan bool // whether a client passed and left
}
