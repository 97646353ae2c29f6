package report

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Trace contains the data of one trial for plots and timelines. Times count from its start.
type Trace struct {
	Length    time.Duration // of the trial
	Queue     bool          // its clients are consumers of items
	Faults    []Fault       // a fault that was never healed lasts until the end
	Holds     []Hold
	Overlaps  []verdict.Overlap
	Handoffs  []metrics.Handoff  // of a queue: deliveries, from when the item was due until it was taken
	Failovers []metrics.Failover // rounds
	Pauses    []metrics.Pause    // rounds in which the holder's process was paused
	Rounds    []Round            // of successions
	Ramps     []metrics.Ramp     // phases with a rising rate of operations
	Paces     []Pace             // of the phases in which the clients, or a rate, set the pace
	Depth     []DepthPoint       // of a queue with a stream of items
	// Latencies contains all measured latencies in nanoseconds, by metric. It is empty if there
	// were too many to keep.
	Latencies map[string][]float64
	Partial   string // why the trace is incomplete; empty if it is complete
}

// Hold is a time during which a client believed that it held the grant.
type Hold struct {
	Client     int
	Start, End time.Duration
}

// traceLimit is the largest number of holds, of hand-offs and of steps that are kept for one
// trial, at about 30 bytes each.
const traceLimit = 500_000

// tracer builds the trace while a history is read.
type tracer struct {
	trace           *Trace
	history         *history.History
	depth           depth
	pace            pace
	rounds          rounds
	droppedHolds    int // number of holds beyond traceLimit
	droppedHandoffs int
}

func newTracer(h *history.History) *tracer {
	return &tracer{trace: &Trace{Latencies: map[string][]float64{}}, history: h, pace: newPace(h)}
}

func (t *tracer) record(n history.Numbered) {
	if s, ok := n.Record.(*history.Sample); ok {
		t.depth.sample(s)
		t.pace.sample(s)
		return
	}
	t.depth.record(n.Record)
	t.rounds.record(n.Record)
}

func (t *tracer) belief(b verdict.Belief) {
	if len(t.trace.Holds) >= traceLimit {
		t.droppedHolds++
		return
	}
	t.trace.Holds = append(t.trace.Holds, Hold{b.Client, b.Start, b.End})
}

func (t *tracer) overlap(o verdict.Overlap) {
	if len(t.trace.Overlaps) < traceLimit {
		t.trace.Overlaps = append(t.trace.Overlaps, o)
	}
}

func (t *tracer) handoff(metric string, h metrics.Handoff) {
	if len(t.trace.Handoffs) >= traceLimit {
		t.droppedHandoffs++
		return
	}
	t.trace.Handoffs = append(t.trace.Handoffs, h)
	t.trace.Latencies[metric] = append(t.trace.Latencies[metric], float64(h.Latency))
}

func (t *tracer) ramp(r metrics.Ramp) { t.trace.Ramps = append(t.trace.Ramps, r) }

func (t *tracer) failover(f metrics.Failover) { t.trace.Failovers = append(t.trace.Failovers, f) }

func (t *tracer) pause(p metrics.Pause) { t.trace.Pauses = append(t.trace.Pauses, p) }

// close returns the trace of a trial of that length. err is the error of reading the history.
func (t *tracer) close(length time.Duration, err error) *Trace {
	x := t.trace
	if t.droppedHandoffs > 0 { // a part of the samples must not be mistaken for all of them
		clear(x.Latencies)
	}
	x.Length, x.Queue = length, t.pace.items
	x.Paces, x.Depth, x.Rounds = t.pace.paces(length), t.depth.points(), t.rounds.all
	x.Faults = faults(t.history.Faults)
	for i := range x.Faults {
		if f := &x.Faults[i]; f.End < f.Start {
			f.End = max(length, f.Start)
		}
	}
	switch {
	case err != nil:
		x.Partial = err.Error()
	case t.droppedHolds > 0:
		x.Partial = fmt.Sprintf("only the first %s are shown, %d more are not", units.Plural(traceLimit, "grant"), t.droppedHolds)
	case t.droppedHandoffs > 0:
		x.Partial = fmt.Sprintf("only the first %s are shown, %d more are not", units.Plural(traceLimit, "hand-off"), t.droppedHandoffs)
	}
	return x
}
