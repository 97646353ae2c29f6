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
)

func init() {
	register(Family{
		Order: 90, About: "The harness itself:",
		Definitions: []Definition{
			{Name: selfTicks, Unit: "1", Help: "Ticks of the harness's own timer"},
			{Name: selfLateTicks, Unit: "1", Better: Lower, Help: "Ticks delivered more than 10 ms late"},
			{Name: selfLate, Unit: "ns", Better: Lower, Help: "Largest delay of a tick"},
			{Name: selfRecords, Unit: "1", Help: "Records written"},
			{Name: selfLost, Unit: "1", Better: Lower, Help: "Records dropped; must be 0"},
			{Name: selfBacklog, Unit: "1", Better: Lower, Help: "Maximum number of records waiting to be written"},
			{Name: selfCPU, Unit: "1", Better: Lower, Help: "Fraction of all processors used by zkbench"},
			{Name: selfMachineCPU, Unit: "1", Better: Lower, Help: "Fraction of all processors used by all programs"},
		},
		collect: collectSelf,
	})
}

func collectSelf(*Fold) collector {
	var last *history.Self
	return collector{
		record: func(r history.Record) {
			if s, ok := r.(*history.Self); ok {
				last = s
			}
		},
		close: func(out map[string]Metric) {
			if last == nil {
				return
			}
			for name, v := range map[string]int64{
				selfTicks: last.Ticks, selfLateTicks: last.LateTicks, selfLate: int64(last.LateMax),
				selfRecords: last.Records, selfLost: last.Lost, selfBacklog: last.MaxBacklog,
			} {
				out[name] = value(name, float64(v))
			}
			for name, share := range map[string]*float64{selfCPU: last.CPU, selfMachineCPU: last.MachineCPU} {
				if share != nil {
					out[name] = value(name, *share)
				}
			}
		},
	}
}
