package scenarios

import (
	"sync"
	"time"
)

// behind is the effort that the trial has behind it, by that of its phases. inPhase is
// for how long the present one has run.
func (t *trial) behind(inPhase time.Duration) (effort float64) {
	for i, p := range t.scenario.Phases {
		if i < t.phaseNum {
			effort += p.effort(t.cell.Clients)
			continue
		}
		part := 0.0
		switch {
		case p.Duration > 0:
			part = inPhase.Seconds() / p.Duration.Seconds()
		case p.Rounds > 0 && t.round > 0:
			part = float64(t.round-1) / float64(p.Rounds)
		}
		return effort + min(part, 1)*p.effort(t.cell.Clients)
	}
	return effort
}

// effort is about how long a phase takes with n clients, in seconds on a good day: only
// the proportions matter.
func (p Phase) effort(n int) float64 {
	if p.Duration > 0 {
		return 0.5 + p.Duration.Seconds()
	}
	handoffs := n
	if len(p.Order) > 0 {
		handoffs = len(p.Order)
	}
	const handoff = 0.01
	return 0.5 + float64(max(p.Rounds, 1)*handoffs)*(p.Hold.Seconds()+handoff)
}

// Course is how far the trials of a run are, to tell how long they will still take.
type Course struct {
	mu     sync.Mutex
	start  time.Time
	legs   []*leg
	trials []*stretch // of all legs, in order
}

// leg is the trials of a batch, by those that run side by side. The budget counts from
// its start.
type leg struct {
	start  time.Time
	groups []group
}

// group is trials that run side by side: they begin together, or not at all.
type group struct {
	cells  []Cell
	trials []*stretch
}

// stretch is the effort of one trial, and how much of it is behind.
type stretch struct {
	leg           *leg
	whole, behind float64
	begun         bool
}

// NewCourse plans the course of all trials.
func NewCourse(batches []Batch) *Course {
	c := &Course{}
	for _, b := range batches {
		l := &leg{}
		for _, cells := range groups(b.Cells, b.Cells[0].Scenario.Base) {
			g := group{cells: cells}
			for _, cell := range cells {
				g.trials = append(g.trials, &stretch{leg: l, whole: cell.effort()})
			}
			l.groups = append(l.groups, g)
			c.trials = append(c.trials, g.trials...)
		}
		c.legs = append(c.legs, l)
	}
	return c
}

// effort is that of all phases.
func (c Cell) effort() (sum float64) {
	for _, p := range c.Scenario.Phases {
		sum += p.effort(c.Clients)
	}
	return sum
}

// Trials is how many trials there are.
func (c *Course) Trials() int { return len(c.trials) }

// soon is for how long and how far a run must have gone before it says how long it
// will still take.
const (
	soon     = 3 * time.Second
	soonPart = 0.01
)

// left is about how long the trials will still take, now that the i-th has so much
// effort behind it: as long in proportion as they have taken so far. It is 0 while
// nobody knows.
func (c *Course) left(now time.Time, i int, behind float64) time.Duration {
	if c == nil || i < 0 || i >= len(c.trials) {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.trials[i]
	at.begun, at.behind = true, min(max(at.behind, behind), at.whole)
	if at.leg.start.IsZero() {
		at.leg.start = now
	}
	if c.start.IsZero() {
		c.start = now
	}
	var whole, done float64
	for _, s := range c.trials {
		whole, done = whole+s.whole, done+s.behind
	}
	taken := now.Sub(c.start)
	if taken < soon || done < soonPart*whole {
		return 0
	}
	return c.ahead(now, taken.Seconds()/done)
}

// end says that the i-th trial has ended. Trials that run beside each other do not end
// in order, and those that the budget forbids have no effort behind them.
func (c *Course) end(i int) {
	if c == nil || i < 0 || i >= len(c.trials) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trials[i].behind = c.trials[i].whole
}

// ahead is how long all that is ahead will take, at so many seconds for an effort of 1.
// It lets the groups begin one after the other, as a run does, and leaves out those
// that would begin when the budget is spent.
func (c *Course) ahead(now time.Time, pace float64) (sum time.Duration) {
	for _, l := range c.legs {
		var elapsed time.Duration
		if !l.start.IsZero() {
			elapsed = now.Sub(l.start)
		}
		for _, g := range l.groups {
			effort, begun := g.ahead()
			if !begun && g.cells[0].Scenario.spent(g.cells, elapsed) {
				continue
			}
			takes := time.Duration(effort * pace * float64(time.Second))
			sum, elapsed = sum+takes, elapsed+takes
		}
	}
	return sum
}

// ahead is the effort that a group has ahead of it, and whether it has begun.
func (g group) ahead() (effort float64, begun bool) {
	for _, s := range g.trials {
		effort, begun = effort+s.whole-s.behind, begun || s.begun
	}
	return effort, begun
}
