package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Trace contains the data of one trial for plots and timelines. Times count from the trial's start.
type Trace struct {
	Length      time.Duration // of the trial
	Queue       bool          // its clients are consumers of items
	Permits     int           // how many may hold at once: 1 for a lock; a large number for a barrier or readers
	Faults      []Fault       // a fault that was never healed lasts until the end
	Holds       []Hold
	Overlaps    []verdict.Overlap
	Handoffs    []metrics.Handoff  // for a queue: deliveries, from the time the item was due until it was taken
	Failovers   []metrics.Failover // rounds
	Pauses      []metrics.Pause    // rounds in which the holder's process was paused
	Rounds      []Round            // of successions
	Ramps       []metrics.Ramp     // phases with a rising rate of operations
	Throughputs []PhaseThroughput  // of the phases in which the clients, or a rate, set the pace
	Depth       []DepthPoint       // for a queue with a stream of items
	// Latencies contains all measured latencies in nanoseconds, by metric. It is empty if there were
	// too many to keep.
	Latencies        map[string][]float64
	IncompleteReason string // why the trace is incomplete; empty if it is complete
}

// Hold is a time during which a client believed that it held the grant.
type Hold struct {
	Client     int
	Start, End time.Duration
	Reads      bool // of a read-write lock: for reading
}

// traceLimit is the maximum number of holds, of hand-offs and of depth changes that are kept for one
// trial. Each takes about 30 bytes.
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

func (t *tracer) addBelief(b facts.Belief) {
	if len(t.trace.Holds) >= traceLimit {
		t.droppedHolds++
		return
	}
	t.trace.Holds = append(t.trace.Holds, Hold{b.Client, b.Start, b.End, t.history.Header.Recipe == facts.RWLock && b.Permits == 1})
}

func (t *tracer) addOverlap(o verdict.Overlap) {
	if len(t.trace.Overlaps) < traceLimit {
		t.trace.Overlaps = append(t.trace.Overlaps, o)
	}
}

func (t *tracer) addHandoff(metric string, h metrics.Handoff) {
	if len(t.trace.Handoffs) >= traceLimit {
		t.droppedHandoffs++
		return
	}
	t.trace.Handoffs = append(t.trace.Handoffs, h)
	t.trace.Latencies[metric] = append(t.trace.Latencies[metric], float64(h.Latency))
}

// close returns the trace of a trial with the given metrics. err is the error of reading the history.
func (t *tracer) close(fold *metrics.Fold, err error) *Trace {
	x, length := t.trace, fold.Length()
	x.Failovers, x.Pauses, x.Ramps = fold.Failovers, fold.Pauses, fold.Ramps
	if t.droppedHandoffs > 0 { // incomplete latencies would be misleading
		clear(x.Latencies)
	}
	x.Length, x.Queue, x.Permits = length, t.pace.items, facts.Permits(t.history.Header)
	x.Throughputs, x.Depth, x.Rounds = t.pace.paces(length), t.depth.points(), t.rounds.all
	x.Faults = faults(t.history.Faults)
	for i := range x.Faults {
		if f := &x.Faults[i]; f.End < f.Start {
			f.End = max(length, f.Start)
		}
	}
	switch {
	case err != nil:
		x.IncompleteReason = err.Error()
	case t.droppedHolds > 0:
		x.IncompleteReason = fmt.Sprintf("only the first %s are shown, %d more are omitted", units.Plural(traceLimit, "grant"), t.droppedHolds)
	case t.droppedHandoffs > 0:
		x.IncompleteReason = fmt.Sprintf("only the first %s are shown, %d more are omitted", units.Plural(traceLimit, "hand-off"), t.droppedHandoffs)
	}
	return x
}

// DepthPoint is the number of waiting items from the time At on.
type DepthPoint struct {
	At     time.Duration
	Queued int // items whose put was called and that were not taken
	Due    int // items that were due and not taken, including items that producers have not put yet
}

type depth struct {
	streams bool         // the history has a stream; in a closed loop the depth has no meaning
	steps   []DepthPoint // changes of the depth
}

func (d *depth) record(r history.Record) {
	if t, ok := r.(*history.Traffic); ok {
		d.streams = d.streams || t.Of == history.OfItem
	}
}

func (d *depth) sample(s *history.Sample) {
	switch {
	case len(d.steps) >= traceLimit:
	case s.Op == history.Put:
		d.steps = append(d.steps, DepthPoint{At: s.Due, Due: 1})
		if s.Outcome != history.Failed {
			d.steps = append(d.steps, DepthPoint{At: s.Call, Queued: 1})
		}
	case s.Op == history.Take && s.Outcome == history.OK:
		d.steps = append(d.steps, DepthPoint{At: s.Return, Queued: -1, Due: -1})
	}
}

func (d *depth) points() []DepthPoint {
	if !d.streams {
		return nil
	}
	slices.SortStableFunc(d.steps, func(a, b DepthPoint) int { return cmp.Compare(a.At, b.At) })
	for i := 1; i < len(d.steps); i++ {
		d.steps[i].Queued += d.steps[i-1].Queued
		d.steps[i].Due += d.steps[i-1].Due
	}
	return d.steps
}

// Round is a round of a succession: which clients waited in line, and which had to leave.
type Round struct {
	Phase   string // determines how clients leave
	Number  int
	Waiters []Waiter
	End     time.Duration // of the round; 0 if it did not end
}

// Waiter is the time during which one client was in the line.
type Waiter struct {
	Client   int
	From, To time.Duration // To is when the client had to leave, or the end of the round
	Left     bool          // the client had to leave
}

// rounds collects the rounds of successions, which follow each other.
type rounds struct{ all []Round }

func (d *rounds) record(r history.Record) {
	switch r := r.(type) {
	case *history.Joined:
		x := d.current(r.Phase, r.Round)
		if x == nil {
			d.all = append(d.all, Round{Phase: r.Phase, Number: r.Round})
			x = &d.all[len(d.all)-1]
		}
		x.Waiters = append(x.Waiters, Waiter{Client: r.Client, From: r.At})
	case *history.Leaving:
		if x := d.current(r.Phase, r.Round); x != nil {
			x.leave(r)
		}
	}
}

// current returns the last round if it has the given phase and number, else nil.
func (d *rounds) current(phase string, number int) *Round {
	if len(d.all) == 0 {
		return nil
	}
	if x := &d.all[len(d.all)-1]; x.Phase == phase && x.Number == number {
		return x
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

// PaceWidth is the width of the time slices in which grants are counted.
const PaceWidth = 100 * time.Millisecond

// PhaseThroughput is the number of grants, or of items taken, over a phase.
type PhaseThroughput struct {
	Start, End time.Duration
	Counts     []int // in slices of PaceWidth from Start; the last slice includes the rest of the phase
}

// pace counts grants and items taken over time, in the phases that count for the throughput.
type pace struct {
	phases []history.Phase
	done   [][]int // of each phase, in slices of PaceWidth from its start
	items  bool    // the history has items
}

func newPace(h *history.History) pace {
	phases := slices.DeleteFunc(slices.Clone(h.Phases), func(p history.Phase) bool { return p.Pace == history.ByHarness })
	if len(h.Phases) == 0 { // a history without phases counts as one phase
		phases = []history.Phase{{}}
	}
	return pace{phases: phases, done: make([][]int, len(phases))}
}

func (c *pace) sample(s *history.Sample) {
	c.items = c.items || s.Op == history.Put || s.Op == history.Take
	if s.Outcome != history.OK || s.Op != history.Acquire && s.Op != history.Take {
		return
	}
	i := slices.IndexFunc(c.phases, func(p history.Phase) bool { return p.Name == s.Phase || p.Name == "" })
	if i < 0 {
		return
	}
	if over := c.phases[i].ActiveUntil(); over > 0 && s.Return > over {
		return
	}
	k := int(max(0, s.Return-c.phases[i].Start) / PaceWidth)
	for len(c.done[i]) <= k {
		c.done[i] = append(c.done[i], 0)
	}
	c.done[i][k]++
}

// paces returns the paces of the phases. end is the end of the history, which also ends a phase
// without a recorded end.
func (c *pace) paces(end time.Duration) []PhaseThroughput {
	var out []PhaseThroughput
	for i, p := range c.phases {
		x := PhaseThroughput{Start: p.Start, End: cmp.Or(p.ActiveUntil(), end)}
		if x.End <= x.Start {
			continue
		}
		x.Counts = make([]int, max(1, (x.End-x.Start+PaceWidth/2)/PaceWidth))
		for k, n := range c.done[i] {
			x.Counts[min(k, len(x.Counts)-1)] += n
		}
		out = append(out, x)
	}
	return out
}
