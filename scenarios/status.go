package scenarios

import (
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// Status is how far one trial of a run is. Trials that run beside each other each tell
// their own.
type Status struct {
	Trial   int // 1 based; 0 before the first
	Trials  int // of the run
	Subject string
	Clients int
	// Of the trials that take turns, this one among them: the first's and the last's
	// number, and their subjects, as in "lock/a beside lock/b". 0 and "" where a trial
	// has nobody beside it.
	First, Last int
	Beside      string

	Phase   string
	Detail  string        // "round 2 of 3", "4s of 10s"
	Grants  int64         // had, or items taken, in this trial so far
	Rate    float64       // grants a second of the trial's own turns, of late; 0 while that is not known
	Left    time.Duration // until the run ends, about; 0 while that is not known
	Fault   string        // in force now
	Wire    wire.Counts   // what the trial's clients have sent and been sent
	Backlog int           // records that wait to be written
	Lost    int           // records that were dropped
	Over    bool          // the trial has ended: nothing of it changes any more
}

// tellEvery is how often progress is told, unless something new begins.
const tellEvery = 100 * time.Millisecond

// telling is what a trial remembers between two reports of its progress.
type telling struct {
	mu     sync.Mutex
	last   time.Time
	status Status
	phase  time.Time     // when the phase began
	floor  *floor        // on which the trial speaks
	turns  time.Duration // own turns since grants were counted for the rate
	grants int64         // as many
}

// floor is where trials that take turns speak, one at a time: it tells which time is
// whose, so that a rate is not diluted by the time in which a trial waits.
type floor struct {
	mu   sync.Mutex
	last time.Time // when somebody spoke
}

// own returns how much of the time until now is the caller's: all since anybody has
// last spoken. What one trial does after its last word of a turn falls to the next,
// which is a few milliseconds either way.
func (f *floor) own(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.last
	f.last = now
	if last.IsZero() {
		return 0
	}
	return now.Sub(last)
}

// tell reports progress.
func (t *trial) tell(detail, fault string) {
	if t.lab.Progress == nil {
		return
	}
	s, now := &t.telling, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns += s.floor.own(now)
	begins := s.status.Phase != t.phase.Name || s.status.Fault != fault
	if !begins && now.Sub(s.last) < tellEvery {
		return
	}
	if s.status.Phase != t.phase.Name || s.phase.IsZero() {
		s.phase = now
		s.turns, s.grants = 0, t.grants.Load()
	}
	s.last = now
	s.status.Phase, s.status.Detail, s.status.Fault = t.phase.Name, detail, fault
	s.status.Left = t.lab.Course.left(now, s.status.Trial-1, t.behind(now.Sub(s.phase)))
	t.send()
}

// send sends the status with what the trial has counted so far. telling.mu is held.
func (t *trial) send() {
	s := &t.telling
	s.status.Wire = t.tap.Totals()
	stats := t.record.Stats()
	s.status.Backlog, s.status.Lost = stats.Backlog, stats.Lost
	s.count(t.grants.Load())
	t.lab.Progress(s.status)
}

// end reports what the trial has come to, now that it has ended: its last grants were
// too close together to be told.
func (t *trial) end() {
	s := &t.telling
	t.lab.Course.end(s.status.Trial - 1)
	if t.lab.Progress == nil || t.tap == nil { // it has told nothing
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Fault, s.status.Over = "", true
	t.send()
}

// rateOver is the time over which a rate is taken, at least. All turns of a trial of a
// short scenario, like ci, may be less than a second.
const rateOver = 500 * time.Millisecond

// count takes the number of grants and, every now and then, their rate.
func (s *telling) count(grants int64) {
	s.status.Grants = grants
	if s.turns >= rateOver {
		s.status.Rate = float64(grants-s.grants) / s.turns.Seconds()
		s.turns, s.grants = 0, grants
	}
}
