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
		Order: 90, About: "What the harness saw of itself:",
		Definitions: []Definition{
			{Name: selfTicks, Unit: "1", Help: "ticks of its own timer"},
			{Name: selfLateTicks, Unit: "1", Better: Lower, Help: "those that came more than 10 ms late"},
			{Name: selfLate, Unit: "ns", Better: Lower, Help: "by how much at worst"},
			{Name: selfRecords, Unit: "1", Help: "records written"},
			{Name: selfLost, Unit: "1", Better: Lower, Help: "records dropped; must be 0"},
			{Name: selfBacklog, Unit: "1", Better: Lower, Help: "records that waited to be written, at most"},
			{Name: selfCPU, Unit: "1", Better: Lower, Help: "share of all processors that zkbench itself used"},
			{Name: selfMachineCPU, Unit: "1", Better: Lower, Help: "share that everything used"},
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
