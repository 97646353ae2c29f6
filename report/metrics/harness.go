package metrics

import "github.com/zkbench/zkbench/report/history"

const (
	selfTicks      = "self.ticks"
	selfLateTicks  = "self.ticks.late"
	selfLate       = "self.late.max"
	selfRecords    = "self.records"
	selfLost       = "self.records.lost"
	selfBacklog    = "self.backlog.max"
	selfCPU        = "self.cpu.own"
	selfMachineCPU = "self.cpu.machine"
	selfStolen     = "self.cpu.stolen"
)

func init() {
	register(Family{About: "The harness itself:", Definitions: []Definition{
		{Name: selfTicks, Unit: "1", Help: "Ticks of the harness's own timer"},
		{Name: selfLateTicks, Unit: "1", Better: Lower, Help: "Ticks delivered more than 10 ms late"},
		{Name: selfLate, Unit: "ns", Better: Lower, Help: "Largest delay of a tick"},
		{Name: selfRecords, Unit: "1", Help: "Records written"},
		{Name: selfLost, Unit: "1", Better: Lower, Help: "Records dropped; must be 0"},
		{Name: selfBacklog, Unit: "1", Better: Lower, Help: "Maximum number of records waiting to be written"},
		{Name: selfCPU, Unit: "1", Better: Lower, Help: "Fraction of all processors used by zkbench"},
		{Name: selfMachineCPU, Unit: "1", Better: Lower, Help: "Fraction of all processors used by all programs"},
		{Name: selfStolen, Unit: "1", Better: Lower, Help: "Fraction of all processors that other virtual machines used (steal)"},
	}}, func(*Fold) collector { return &harness{} })
}

type harness struct {
	noopCollector
	last *history.HarnessLoad
}

func (x *harness) record(r history.Record) {
	if s, ok := r.(*history.HarnessLoad); ok {
		x.last = s
	}
}

func (x *harness) close(out map[string]Metric) {
	s := x.last
	if s == nil {
		return
	}
	for name, v := range map[string]*float64{
		selfTicks: new(float64(s.Ticks)), selfLateTicks: new(float64(s.LateTicks)), selfLate: new(float64(s.LateMax)),
		selfRecords: new(float64(s.Records)), selfLost: new(float64(s.Lost)), selfBacklog: new(float64(s.MaxBacklog)),
		selfCPU: s.CPU, selfMachineCPU: s.MachineCPU, selfStolen: s.Stolen,
	} {
		if v != nil {
			out[name] = value(name, *v)
		}
	}
}
