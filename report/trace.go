package report

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Trace contains the data of one trial for plots and timelines. Times count from the trial's start.
type Trace struct {
	Length           time.Duration // of the trial
	Queue            bool          // its clients are consumers of items
	Permits          int           // how many may hold at once: 1 for a lock, also of several paths; a large number for a barrier or readers
	Faults           []Fault       // a fault that was never healed lasts until the end
	Holds            []Hold
	Overlaps         []verdict.Overlap
	Handoffs         []metrics.Handoff  // for a queue: deliveries, from the time the item was due until it was taken
	Failovers        []metrics.Failover // rounds
	Pauses           []metrics.Pause    // rounds in which the holder's process was paused
	Rounds           []Round            // of successions
	Ramps            []metrics.Ramp     // phases with a rising rate of operations
	IncompleteReason string             // why the trace is incomplete; empty if it is complete
}

// Hold is a time during which a client believed that it held the grant.
type Hold struct {
	Client     int
	Start, End time.Duration
	Reads      bool // of a read-write lock: for reading
}

// traceLimit is the maximum number of holds, and of hand-offs, kept for one trial. Each takes about 30 bytes.
const traceLimit = 500_000

type traceBuilder struct {
	trace   *Trace
	history *history.History
	dropped int // number of holds and hand-offs beyond traceLimit
}

func newTraceBuilder(h *history.History) *traceBuilder {
	permits := facts.Permits(h.Header)
	if permits > 1 {
		permits *= max(h.Header.Paths, 1)
	}
	return &traceBuilder{trace: &Trace{Queue: h.Header.Recipe == verdict.Queue, Permits: permits}, history: h}
}

func (t *traceBuilder) addBelief(b facts.Belief) {
	if len(t.trace.Holds) >= traceLimit {
		t.dropped++
		return
	}
	t.trace.Holds = append(t.trace.Holds, Hold{b.Client, b.Start, b.End, t.history.Header.Recipe == facts.RWLock && b.Permits == 1})
}

func (t *traceBuilder) addOverlap(o verdict.Overlap) {
	if len(t.trace.Overlaps) < traceLimit {
		t.trace.Overlaps = append(t.trace.Overlaps, o)
	}
}

func (t *traceBuilder) addHandoff(h metrics.Handoff) {
	if len(t.trace.Handoffs) >= traceLimit {
		t.dropped++
		return
	}
	t.trace.Handoffs = append(t.trace.Handoffs, h)
}

// close returns the trace of a trial with the given metrics. err is the error of reading the history.
func (t *traceBuilder) close(fold *metrics.Fold, err error) *Trace {
	x, length := t.trace, fold.Length()
	x.Failovers, x.Pauses, x.Ramps = fold.Failovers, fold.Pauses, fold.Ramps
	x.Length = length
	x.Faults = faults(t.history.Faults)
	for i := range x.Faults {
		if f := &x.Faults[i]; f.End < f.Start {
			f.End = max(length, f.Start)
		}
	}
	switch {
	case err != nil:
		x.IncompleteReason = err.Error()
	case t.dropped > 0:
		x.IncompleteReason = fmt.Sprintf("only the first %s and hand-offs are shown, %d more are omitted", units.Plural(traceLimit, "grant"), t.dropped)
	}
	return x
}

// Round is a round of a succession: which clients waited in line, and which had to leave.
type Round struct {
	Phase   string // determines how clients leave
	Number  int
	Waiters []Waiter
	End     time.Duration // of the round; 0 if it did not end
}

type Waiter struct {
	Client   int
	From, To time.Duration // To is when the client had to leave, or the end of the round
	Left     bool          // the client had to leave
}

func (t *traceBuilder) record(r history.Record) {
	switch r := r.(type) {
	case *history.Joined:
		x := t.round(r.Phase, r.Round)
		if x == nil {
			t.trace.Rounds = append(t.trace.Rounds, Round{Phase: r.Phase, Number: r.Round})
			x = t.round(r.Phase, r.Round)
		}
		x.Waiters = append(x.Waiters, Waiter{Client: r.Client, From: r.At})
	case *history.Leaving:
		if x := t.round(r.Phase, r.Round); x != nil {
			x.leave(r)
		}
	}
}

// round returns the last round if it has the given phase and number, else nil.
func (t *traceBuilder) round(phase string, number int) *Round {
	if n := len(t.trace.Rounds); n > 0 {
		if x := &t.trace.Rounds[n-1]; x.Phase == phase && x.Number == number {
			return x
		}
	}
	return nil
}

// leave ends the client's time in the line, or the whole round if r.Client is -1.
func (x *Round) leave(r *history.Leaving) {
	x.End = r.At
	for i := range x.Waiters {
		s := &x.Waiters[i]
		if !s.Left && (r.Client < 0 || s.Client == r.Client) {
			s.To, s.Left = r.At, r.Client >= 0
		}
	}
}
