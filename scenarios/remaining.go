package scenarios

import (
	"sync"
	"time"
)

// done returns the completed effort of the trial, in seconds. inPhase is the age of the current
// phase.
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

// estimate estimates the remaining time of a run by the effort of completed trials.
type estimate struct {
	mu     sync.Mutex
	start  time.Time
	groups []*groupShare
	trials []*trialShare // of all groups, in order
}

// groupShare is trials that run at the same time.
type groupShare struct {
	cells  []cell
	trials []*trialShare
	start  *time.Time // of its batch, from which the budget counts
}

// trialShare is the effort of one trial and the completed part.
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

func (c cell) effort() (sum float64) {
	for i := range c.Scenario.Phases {
		sum += c.Scenario.Phases[i].effort(c.Clients)
	}
	return sum
}

// The estimate is 0 until a run has taken this long and completed this share.
const (
	soon     = 3 * time.Second
	soonPart = 0.01
)

// left estimates the remaining time, in proportion to the time so far, given that the i-th trial
// has completed so much; 0 if unknown.
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

// end records that the i-th trial has ended. Trials that run at the same time do not end in order,
// and those beyond the budget have no completed effort.
func (e *estimate) end(i int) {
	if e == nil || i < 0 || i >= len(e.trials) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trials[i].done = e.trials[i].whole
}

// ahead returns the time of all remaining effort, at pace seconds for an effort of 1. Groups run
// one after the other, without trials that would begin after the budget.
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
