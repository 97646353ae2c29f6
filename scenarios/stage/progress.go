package stage

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/report/history"
)

// Status is the progress of one trial of a run.
type Status struct {
	Trial   int // from 1; 0 before the first
	Trials  int // number of trials of the run
	Subject string
	Clients int
	// If the trial alternates with others: the numbers of the first and the last of these trials, and
	// their subjects, as in "lock/a, lock/b". Otherwise 0 and "".
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

// Reporter sends the status of a trial.
type Reporter struct {
	Send  func(Status) // nil if no status is needed
	End   time.Time    // estimated end of the run; zero if unknown
	fault atomic.Pointer[chaos.Window]

	mu     sync.Mutex
	last   time.Time // time of the last report
	Status Status
}

// Report sends the status with a detail, which is formatted as by [fmt.Sprintf]. Unless the phase or the
// fault has changed, it sends nothing within 100 ms of the last report.
func (st *Stage) Report(format string, args ...any) {
	r, now := st.Status, time.Now()
	if r.Send == nil {
		return
	}
	fault := ""
	if f := r.fault.Load(); f != nil {
		fault = history.DescribeFault(f.Fault, f.Target)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	begins := r.Status.Phase != st.Phase.Name
	if !begins && r.Status.Fault == fault && now.Sub(r.last) < reportEvery {
		return
	}
	r.last = now
	r.Status.Phase, r.Status.Detail, r.Status.Fault = st.Phase.Name, fmt.Sprintf(format, args...), fault
	r.Status.Left, r.Status.Lost = max(r.End.Sub(now), 0), st.Record.Stats().Lost
	r.Send(r.Status)
}

// ReportEnd reports the final state of a trial that has ended, unless the trial never began.
func (st *Stage) ReportEnd() {
	r := st.Status
	if r.Send == nil || st.Tap == nil || st.Record == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Status.Fault, r.Status.Over, r.Status.Lost = "", true, st.Record.Stats().Lost
	r.Send(r.Status)
}
