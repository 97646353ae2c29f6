package scenarios

import (
	"sync"
	"time"
)

// done is the effort that the trial has behind it, in seconds. inPhase is for how long
// the present phase has run.
func (st *stage) done(inPhase time.Duration) (effort float64) {
	for i := range st.scenario.Phases {
		p := &st.scenario.Phases[i]
		whole := p.effort(st.cell.Clients)
		if p.Name != st.phase.Name {
			effort += whole
			continue
		}
		part := 0.0
		switch {
		case p.Duration > 0:
			part = inPhase.Seconds() / p.Duration.Seconds()
		case p.Rounds > 0 && st.round > 0:
			part = float64(st.round-1) / float64(p.Rounds)
		}
		return effort + min(part, 1)*whole
	}
	return 0 // no phase has begun
}

// estimate estimates how long the trials of a run still take, by the effort of those that
// are done.
type estimate struct {
	mu     sync.Mutex
	start  time.Time
	groups []*groupShare
	trials []*trialShare // of all groups, in order
}

// groupShare is trials that run side by side: they begin together, or not at all.
type groupShare struct {
	cells  []cell
	trials []*trialShare
	start  *time.Time // of its batch, from which the budget counts
}

// trialShare is the effort of one trial, and how much of it is done.
type trialShare struct {
	group       *groupShare
	whole, done float64
	begun       bool
}

func newEstimate(batches []batch) *estimate {
	e := &estimate{}
	for _, b := range batches {
		start := new(time.Time)
		for _, cells := range groups(b.cells, b.cells[0].Scenario.Base) {
			g := &groupShare{cells: cells, start: start}
			for _, c := range cells {
				g.trials = append(g.trials, &trialShare{group: g, whole: c.effort()})
			}
			e.groups = append(e.groups, g)
			e.trials = append(e.trials, g.trials...)
		}
	}
	return e
}

// effort is that of all phases.
func (c cell) effort() (sum float64) {
	for i := range c.Scenario.Phases {
		sum += c.Scenario.Phases[i].effort(c.Clients)
	}
	return sum
}

// The estimate is 0 until a run has taken so long, and so much of it is done.
const (
	soon     = 3 * time.Second
	soonPart = 0.01
)

// left estimates how long the trials still take, now that the i-th has done so much: as
// long in proportion as they have taken so far; 0 until known.
func (e *estimate) left(now time.Time, i int, done float64) time.Duration {
	if e == nil || i < 0 || i >= len(e.trials) {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.trials[i]
	at.begun, at.done = true, min(max(at.done, done), at.whole)
	for _, start := range []*time.Time{&e.start, at.group.start} {
		if start.IsZero() {
			*start = now
		}
	}
	var whole, sum float64
	for _, t := range e.trials {
		whole, sum = whole+t.whole, sum+t.done
	}
	taken := now.Sub(e.start)
	if taken < soon || sum < soonPart*whole {
		return 0
	}
	return e.ahead(now, taken.Seconds()/sum)
}

// end says that the i-th trial has ended. Trials that run beside each other do not end
// in order, and those that the budget forbids have no effort behind them.
func (e *estimate) end(i int) {
	if e == nil || i < 0 || i >= len(e.trials) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trials[i].done = e.trials[i].whole
}

// ahead is how long all that is ahead takes, at so many seconds for an effort of 1. The
// groups begin one after the other, as in a run, without those that would begin when the
// budget is spent.
func (e *estimate) ahead(now time.Time, pace float64) (sum time.Duration) {
	elapsed := map[*time.Time]time.Duration{} // of each batch
	for _, g := range e.groups {
		if _, known := elapsed[g.start]; !known && !g.start.IsZero() {
			elapsed[g.start] = now.Sub(*g.start)
		}
		effort, begun := 0.0, false
		for _, t := range g.trials {
			effort, begun = effort+t.whole-t.done, begun || t.begun
		}
		if !begun && g.cells[0].Scenario.spent(g.cells, elapsed[g.start]) {
			continue
		}
		takes := time.Duration(effort * pace * float64(time.Second))
		sum += takes
		elapsed[g.start] += takes
	}
	return sum
}
