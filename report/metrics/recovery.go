package metrics

import (
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Names of the metrics of what follows a fault.
const (
	outageTime      = "outage.time"
	RecoveryTime    = "recovery.time"
	ConnectionsPeak = "connections.peak"
)

func init() {
	register(Family{
		Order: 60, About: "What faults cost everybody:",
		Definitions: []Definition{
			{Name: outageTime, Unit: "ns", Better: Lower, Distribution: true,
				Help: "for how long nobody held while a fault was in force, each time, although somebody waited"},
			{Name: RecoveryTime, Unit: "ns", Better: Lower, Distribution: true,
				Help: "from the beginning of healing until all members serve, one leads, and a write was seen by each"},
			{Name: ConnectionsPeak, Unit: "1/s", Better: Lower,
				Help: "the highest rate at which the members took connections, over about a second"},
		},
		collect: func(f *Fold) collector {
			x := &recovery{fold: f}
			return collector{record: x.record, changed: x.changed, close: x.close}
		},
	})
}

type recovery struct {
	fold    *Fold
	peak    float64 // connections a second
	counted bool
}

func (x *recovery) record(r history.Record) {
	switch r := r.(type) {
	case *history.Recovered:
		x.fold.observe(RecoveryTime, r.Phase, r.At-r.Healing)
	case *history.Connections:
		if r.Over > 0 {
			x.counted = true
			x.peak = max(x.peak, float64(r.Made)/r.Over.Seconds())
		}
	}
}

func (x *recovery) changed(last, next *verdict.Belief) {
	if next.Start > last.End && x.fold.faults.Touches(last.End, next.Start) {
		x.fold.observe(outageTime, next.Phase, next.Start-last.End)
	}
}

func (x *recovery) close(out map[string]Metric) {
	if x.counted {
		out[ConnectionsPeak] = Metric{Unit: "1/s", Value: new(x.peak)}
	}
}
