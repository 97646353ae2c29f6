package scenarios

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report/history"
)

// Status is the progress of one trial of a run.
type Status struct {
	Trial   int // from 1; 0 before the first
	Trials  int // number of trials of the run
	Subject string
	Clients int
	// If the trial takes turns with others: the numbers of the first and the last of them, and
	// their subjects, as in "lock/a with lock/b". Otherwise 0 and "".
	First, Last int
	Beside      string

	Phase  string
	Detail string        // such as "round 2 of 3" or "4s of 10s"
	Left   time.Duration // estimated time until the run ends; 0 if unknown
	Fault  string        // active now, or ""
	Lost   int           // records that were dropped
	Over   bool          // the trial has ended
}

const reportEvery = 100 * time.Millisecond

type reporter struct {
	send     func(Status) // nil if not wanted
	estimate *estimate
	fault    atomic.Pointer[chaos.Window]

	mu     sync.Mutex
	last   time.Time // time of the last report
	status Status
}

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
	begins := r.status.Phase != st.phase.Name
	if !begins && r.status.Fault == fault && now.Sub(r.last) < reportEvery {
		return
	}
	r.last = now
	r.status.Phase, r.status.Detail, r.status.Fault = st.phase.Name, fmt.Sprintf(format, args...), fault
	r.status.Left = r.estimate.left(now)
	st.sendStatus()
}

// reportEnd reports the final state of a trial that has ended. A trial that never began reports
// nothing.
func (st *stage) reportEnd() {
	r := st.status
	r.estimate.end(time.Now())
	if r.send == nil || st.tap == nil || st.record == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Fault, r.status.Over = "", true
	st.sendStatus()
}

// sendStatus sends the status with the current counts. reporter.mu is held.
func (st *stage) sendStatus() {
	r := st.status
	r.status.Lost = st.record.Stats().Lost
	r.send(r.status)
}

// estimate estimates the remaining time of a run by the number of completed trials.
type estimate struct {
	trials int           // of the run
	budget time.Duration // after which no trial begins, of all batches; 0 if there is none

	mu    sync.Mutex
	start time.Time
	last  time.Time // end of the last completed trial
	done  int
}

func newEstimate(batches []spec.Batch) *estimate {
	e := &estimate{start: time.Now()}
	for _, b := range batches {
		e.trials += len(b.Cells)
		e.budget += b.Cells[0].Scenario.Budget
	}
	return e
}

// left returns the time per completed trial for each of the others; 0 if unknown.
func (e *estimate) left(now time.Time) time.Duration {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done == 0 {
		return 0
	}
	each := e.last.Sub(e.start) / time.Duration(e.done)
	left := each*time.Duration(e.trials-e.done) - now.Sub(e.last)
	if e.budget > 0 {
		left = min(left, e.budget+each-now.Sub(e.start))
	}
	return max(left, 0)
}

func (e *estimate) end(now time.Time) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done, e.last = e.done+1, now
}
