package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// provocation is a script that is run on a subject in one cell of an audit.
type provocation struct {
	name    string
	about   string // one line, with the reason why it is not a fault at one step
	clients int
	fits    func(recipes.Subject) bool
	aims    []aim // of an episode: its faults and their steps
	run     func(p *episodeRun)
}

// provocations are the scripts that concern a whole line.
var provocations = []provocation{
	{name: "crowd", clients: 8, fits: forLocks, run: crowd,
		about: "eight clients contend for at least 40 grants; finds bugs that need chance or many clients"},
	{name: "wrapped-numbers", clients: 6, fits: forLocks, run: wrappedNumbers,
		about: "six contend, with sequence numbers as after the wrap of the parent's counter: that is no matter of one step"},
	{name: "newcomers", clients: 8, fits: forCancels, run: newcomers,
		about: "seven join behind a holder and give up, eight times: where the servers list a newcomer is a matter of chance"},
	{name: "line", clients: 10, fits: forFormula, run: standInLine,
		about: "a line of ten drains once; the cost of a hand-off is counted as the line grows"},
	{name: "backlog", clients: 2, fits: forQueues, run: putThenTake,
		about: "five items are there before anybody takes: in an episode each is taken as it comes"},
}

func forQueues(s recipes.Subject) bool  { return s.Recipe == recipes.RecipeQueue }
func forLocks(s recipes.Subject) bool   { return !forQueues(s) } // and for elections
func forCancels(s recipes.Subject) bool { return forLocks(s) && !s.NoCancel }
func forFormula(s recipes.Subject) bool {
	return forLocks(s) && (s.Formulas.Drain != nil || s.Variant != "")
}

func wholeLine(s recipes.Subject) (names []string) {
	for _, p := range provocations {
		if p.fits(s) {
			names = append(names, p.name)
		}
	}
	return names
}

// WholeLine returns the name and the description of every script that concerns a whole line.
func WholeLine() [][2]string {
	var out [][2]string
	for _, p := range provocations {
		out = append(out, [2]string{p.name, p.about})
	}
	return out
}

// crowd lets all clients contend for a while, and for a minimum of grants on a slow machine.
func crowd(p *episodeRun) {
	ctx, cancel := context.WithTimeout(p.ctx, 6*time.Second)
	defer cancel()
	enough, before := time.Now().Add(1500*time.Millisecond), p.st.grants.Load()
	_ = each(p.st.clients, len(p.st.clients), func(c *client) error {
		for ctx.Err() == nil {
			a := c.begin(ctx)
			if <-a.done; a.err != nil {
				return nil
			}
			until := time.Now().Add(p.st.phase.Hold)
			p.act(a)
			_ = pause(p.ctx, time.Until(until))
			p.letGo(a)
			if time.Now().After(enough) && p.st.grants.Load()-before >= 40 {
				cancel()
			}
		}
		return nil
	})
}

// newcomers lets seven clients join behind a holder and give up, eight times. The holders should
// not be notified.
func newcomers(p *episodeRun) {
	n := len(p.st.clients)
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
				p.last(i).giveUp()
			}
		}
		for i := range n {
			if a := p.last(i); a != holder {
				if <-a.done; a.err == nil {
					p.letGo(a)
				}
			}
		}
		p.letGo(holder)
	}
}

// standInLine drains a full line once and counts the cost.
func standInLine(p *episodeRun) {
	p.st.round = 1
	p.must(drainOnce(p.ctx, p.st))
}

// wrappedNumbers is crowd with negative sequence numbers.
func wrappedNumbers(p *episodeRun) {
	p.st.dial = wire.Renumber
	p.must(p.st.renew(p.ctx))
	now := p.st.clock.Now()
	p.st.record.Record(&history.Window{Fault: "numbers.wrap", Target: "every client", Client: -1, Start: now, End: now,
		Proof: fmt.Sprintf("every number from the servers is handed on less %d", wire.Renumbered)})
	crowd(p)
}

// putThenTake puts five items and takes them.
func putThenTake(p *episodeRun) {
	for range 5 {
		_, _ = p.st.clients[0].putNext(p.ctx) // the history has the error
	}
	taking, stop := context.WithCancel(p.ctx)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		p.st.clients[1].consume(taking, func(string) {})
	}()
	defer func() { stop(); <-taken }()
	p.must(p.st.waitQueueEmpty(p.ctx, grantLimit))
}
