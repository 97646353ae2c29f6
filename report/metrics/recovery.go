package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Names of the metrics of recovery after faults.
const (
	outageTime      = "outage.time"
	RecoveryTime    = "recovery.time"
	ConnectionsPeak = "connections.peak"
)

func init() {
	register(Family{
		Order: 60, About: "Cost of faults for all clients:",
		Definitions: []Definition{
			{Name: outageTime, Unit: "ns", Better: Lower, Distribution: true,
				Help: "How long no client held the lock during a fault, per fault, while a client waited"},
			{Name: RecoveryTime, Unit: "ns", Better: Lower, Distribution: true,
				Help: "Time from the start of healing until all members serve, one leads, and each has seen a write"},
			{Name: ConnectionsPeak, Unit: "1/s", Better: Lower,
				Help: "Highest rate of new connections to the members, over about one second"},
		},
		collect: func(f *Fold) collector {
			x := &recovery{fold: f, held: map[string]time.Duration{}, waits: map[string]time.Duration{}}
			return collector{record: x.record, belief: x.belief, changed: x.changed, close: x.close}
		},
	})
}

type recovery struct {
	fold    *Fold
	held    map[string]time.Duration // by phase: until when a client held
	waits   map[string]time.Duration // by phase: since when the first of those waited that still did at its end
	peak    float64                  // connections per second
	counted bool
}

func (x *recovery) record(r history.Record) {
	switch r := r.(type) {
	case *history.Waiting:
		if since, known := x.waits[r.Phase]; r.Op == history.Acquire && (!known || r.Call < since) {
			x.waits[r.Phase] = r.Call
		}
	case *history.Recovered:
		x.fold.observe(RecoveryTime, r.Phase, r.At-r.Healing)
	case *history.Connections:
		if r.Over > 0 {
			x.counted = true
			x.peak = max(x.peak, float64(r.Made)/r.Over.Seconds())
		}
	}
}

func (x *recovery) belief(b *verdict.Belief) { x.held[b.Phase] = max(x.held[b.Phase], b.End) }

func (x *recovery) changed(last, next *verdict.Belief) {
	x.outage(next.Phase, max(last.End, next.Call), next.Start)
}

func (x *recovery) outage(phase string, from, to time.Duration) {
	if to > from && x.fold.faults.Touches(from, to) {
		x.fold.observe(outageTime, phase, to-from)
	}
}

func (x *recovery) close(out map[string]Metric) {
	for phase, since := range x.waits {
		x.outage(phase, max(since, x.held[phase]), x.fold.endOf(x.fold.phase(phase)))
	}
	if x.counted {
		out[ConnectionsPeak] = Metric{Unit: "1/s", Value: new(x.peak)}
	}
}
