package audit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/stage"
)

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
		if !a.Ended() {
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
		sure, err := p.holds(ctx, a)
		if err == nil && sure {
			p.awaitDeparture(ctx, g, i)
			g.leaving[i].Store(true)
			p.letGo(a)
			return true
		}
		a.Over, a.Err = true, recipes.ErrSessionEnded
		a.Client.Inside.Store(false)
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
	still := stage.Stillness{Polls: stage.StillPolls - quietFor}
	_ = stage.Poll(ctx, restLimit, func(context.Context) (bool, error) {
		return g.leaving[before].Load() && still.See(p.st.Clients[before].Wire.Counts()), nil
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
