package scenarios

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// Status is how far one trial of a run is. Each trial reports its own.
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

// reportEvery is how often a trial reports, unless something new begins.
const reportEvery = 100 * time.Millisecond

// reporter reports how far a trial is.
type reporter struct {
	send     func(Status) // nil: nobody asks
	estimate *estimate
	turns    *turnClock                   // of the trials that take turns
	fault    atomic.Pointer[chaos.Window] // in force now; nil

	mu     sync.Mutex
	last   time.Time // of the last report
	status Status
	phase  time.Time     // when the phase began
	own    time.Duration // of the trial's turns, since grants were counted for the rate
	grants int64         // as many
}

// turnClock says which time is whose among trials that take turns, so that a rate is not
// diluted by the time in which a trial waits.
type turnClock struct {
	mu   sync.Mutex
	last time.Time // when a trial has asked
}

// own returns how much of the time until now is the caller's: all since any trial has
// last asked. What one trial does at the end of its turn falls to the next, which is a few
// milliseconds either way.
func (c *turnClock) own(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last
	c.last = now
	if last.IsZero() {
		return 0
	}
	return now.Sub(last)
}

// report reports what is done in the phase now.
func (st *stage) report(format string, args ...any) {
	r, now := st.status, time.Now()
	if r.send == nil {
		return
	}
	fault := ""
	if f := r.fault.Load(); f != nil {
		fault = history.Struck(f.Fault, f.Target)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own += r.turns.own(now)
	begins := r.status.Phase != st.phase.Name
	if !begins && r.status.Fault == fault && now.Sub(r.last) < reportEvery {
		return
	}
	if begins || r.phase.IsZero() {
		r.phase = now
		r.own, r.grants = 0, st.grants.Load()
	}
	r.last = now
	r.status.Phase, r.status.Detail, r.status.Fault = st.phase.Name, fmt.Sprintf(format, args...), fault
	r.status.Left = r.estimate.left(now, r.status.Trial-1, st.done(now.Sub(r.phase)))
	st.sendStatus()
}

// reportEnd reports what the trial has come to, now that it has ended: its last grants
// were too close together for a report of their own. A trial that never began reports
// nothing.
func (st *stage) reportEnd() {
	r := st.status
	r.estimate.end(r.status.Trial - 1)
	if r.send == nil || st.tap == nil || st.record == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Fault, r.status.Over = "", true
	st.sendStatus()
}

// sendStatus sends the status with what the trial has counted so far. reporter.mu is held.
func (st *stage) sendStatus() {
	r := st.status
	r.status.Wire = st.tap.Totals()
	stats := st.record.Stats()
	r.status.Backlog, r.status.Lost = stats.Backlog, stats.Lost
	r.count(st.grants.Load())
	r.send(r.status)
}

// rateOver is the time over which a rate is taken, at least. All turns of a trial of a
// short scenario, like ci, may be less than a second.
const rateOver = 500 * time.Millisecond

// count takes the number of grants and, every now and then, their rate.
func (r *reporter) count(grants int64) {
	r.status.Grants = grants
	if r.own >= rateOver {
		r.status.Rate = float64(grants-r.grants) / r.own.Seconds()
		r.own, r.grants = 0, grants
	}
}
