package scenarios

import (
	"sync"
	"time"

	"zkbench/chaos/wire"
)

// Status is how far a run is.
type Status struct {
	Trial   int // 1 based
	Trials  int
	Subject string
	Clients int
	Phase   string
	Detail  string        // "round 2 of 3", "4s of 10s"
	Grants  int64         // had, or items taken, in this trial so far
	Rate    float64       // grants a second, of late; 0 while that is not known
	Left    time.Duration // until the run ends, about; 0 while that is not known
	Fault   string        // in force now
	Wire    wire.Counts   // what the trial's clients have sent and been sent
	Backlog int           // records that wait to be written
	Lost    int           // records that were dropped
}

// tellEvery is how often progress is told, unless something new begins.
const tellEvery = 100 * time.Millisecond

// telling is what a trial remembers between two reports of its progress.
type telling struct {
	mu     sync.Mutex
	last   time.Time
	status Status
	phase  time.Time // when the phase began
	since  time.Time // when grants were counted for the rate
	grants int64     // as many
}

// tell reports progress.
func (t *trial) tell(detail, fault string) {
	if t.lab.Progress == nil {
		return
	}
	s, now := &t.telling, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	begins := s.status.Phase != t.phase.Name || s.status.Fault != fault
	if !begins && now.Sub(s.last) < tellEvery {
		return
	}
	if s.status.Phase != t.phase.Name || s.phase.IsZero() {
		s.phase = now
	}
	s.last = now
	s.status.Phase, s.status.Detail, s.status.Fault = t.phase.Name, detail, fault
	s.status.Wire = t.tap.Totals()
	stats := t.record.Stats()
	s.status.Backlog, s.status.Lost = stats.Backlog, stats.Lost
	s.count(now, t.grants.Load())
	s.status.Left = t.lab.Course.left(now, s.status.Trial-1, t.behind(now.Sub(s.phase)))
	t.lab.Progress(s.status)
}

// rateOver is the time over which a rate is taken.
const rateOver = time.Second

// count takes the number of grants and, every now and then, their rate.
func (s *telling) count(now time.Time, grants int64) {
	s.status.Grants = grants
	switch over := now.Sub(s.since); {
	case s.since.IsZero():
		s.since, s.grants = now, grants
	case over >= rateOver:
		s.status.Rate = float64(grants-s.grants) / over.Seconds()
		s.since, s.grants = now, grants
	}
}

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
	trials []stretch
}

// stretch is the effort of one trial, and how much of it is behind.
type stretch struct{ whole, behind float64 }

// NewCourse plans the course of all trials.
func NewCourse(batches []Batch) *Course {
	c := &Course{}
	for _, b := range batches {
		for _, cell := range b.Cells {
			var s stretch
			for _, p := range cell.Scenario.Phases {
				s.whole += p.effort(cell.Clients)
			}
			c.trials = append(c.trials, s)
		}
	}
	return c
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
	if c.start.IsZero() {
		c.start = now
	}
	c.trials[i].behind = max(c.trials[i].behind, behind)
	var whole, done float64
	for k, s := range c.trials {
		if k < i {
			s.behind = s.whole
		}
		whole, done = whole+s.whole, done+min(s.behind, s.whole)
	}
	taken := now.Sub(c.start)
	if taken < soon || done < soonPart*whole {
		return 0
	}
	return time.Duration(float64(taken) * (whole - done) / done)
}
