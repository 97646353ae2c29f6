package report

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Trace is what one trial has to draw. Times count from the start of the trial.
type Trace struct {
	Length    time.Duration // of the trial
	Queue     bool          // its clients are consumers, and what they have is items
	Faults    []Fault       // one that was never healed lasts until the end
	Holds     []Hold
	Overlaps  []verdict.Overlap
	Handoffs  []metrics.Handoff  // of a queue: deliveries, each from when the item was due until it was taken
	Failovers []metrics.Failover // rounds
	Pauses    []metrics.Pause    // rounds, of holders whose process was paused
	Rounds    []Round            // of successions
	Ramps     []metrics.Ramp     // in which operations were due at a rate that rises
	Paces     []Pace             // of the phases in which the clients, or a rate, set the pace
	Depth     []DepthPoint       // of a queue with a stream of items
	// Latencies are all that were measured, by metric, in nanoseconds; absent where
	// there were too many.
	Latencies map[string][]float64
	Partial   string // why it is incomplete; empty where it is whole
}

// Hold is a time in which a client believed that it held.
type Hold struct {
	Client     int
	Start, End time.Duration
}

// traceLimit bounds the holds, hand-offs and steps of one trial that are kept for
// drawing: some 30 bytes each.
const traceLimit = 500_000

// tracer makes the trace of a history while that is folded.
type tracer struct {
	trace        *Trace
	history      *history.History
	depth        depth
	pace         pace
	rounds       rounds
	left         int // holds that were left out
	leftHandoffs int
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
		t.left++
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
		t.leftHandoffs++
		return
	}
	t.trace.Handoffs = append(t.trace.Handoffs, h)
	t.trace.Latencies[metric] = append(t.trace.Latencies[metric], float64(h.Latency))
}

func (t *tracer) ramp(r metrics.Ramp) { t.trace.Ramps = append(t.trace.Ramps, r) }

func (t *tracer) failover(f metrics.Failover) { t.trace.Failovers = append(t.trace.Failovers, f) }

func (t *tracer) pause(p metrics.Pause) { t.trace.Pauses = append(t.trace.Pauses, p) }

// close returns the trace of a trial of that length. err is what the reading of the
// history ended with.
func (t *tracer) close(length time.Duration, err error) *Trace {
	x := t.trace
	if t.leftHandoffs > 0 { // a part of the samples would pass for all of them
		clear(x.Latencies)
	}
	x.Length, x.Queue = length, t.pace.items
	x.Paces, x.Depth, x.Rounds = t.pace.over(length), t.depth.points(), t.rounds.all
	x.Faults = faults(t.history.Faults)
	for i := range x.Faults {
		if f := &x.Faults[i]; f.End < f.Start {
			f.End = max(length, f.Start)
		}
	}
	switch {
	case err != nil:
		x.Partial = err.Error()
	case t.left > 0:
		x.Partial = fmt.Sprintf("only the first %s are drawn, %d more are not", units.Plural(traceLimit, "grant"), t.left)
	case t.leftHandoffs > 0:
		x.Partial = fmt.Sprintf("only the first %s are drawn, %d more are not", units.Plural(traceLimit, "hand-off"), t.leftHandoffs)
	}
	return x
}
