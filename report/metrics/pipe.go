package metrics

import "github.com/zkbench/zkbench/report/history"

// PipeRoundtrip names the time between the harness and a driver.
const PipeRoundtrip = "pipe.roundtrip"

// AgentsClock names the possible error of agents' clocks.
const AgentsClock = "agents.clock"

func init() {
	register(Family{
		Order: 75, About: "Overhead between the harness and a subject in a process of its own:",
		Definitions: []Definition{{Name: PipeRoundtrip, Unit: "ns", Better: Lower, Fields: []string{"count", "p50", "p99"},
			Help: "Round trip of a request through the driver's pipe (p50, p99). Latencies of a driver that reports " +
				"the times of its recipe's calls exclude it; those of other drivers include it"},
			{Name: AgentsClock, Unit: "ns", Better: Lower,
				Help: "Largest uncertainty of an agent's clock. A latency that begins and ends on one agent is exact; " +
					"a time that begins on one client and ends on another (hand-off, failover) may be off by twice this value. Belief intervals are narrowed by it"}},
		collect: func(*Fold) collector {
			var pipe *history.Pipe
			return collector{
				record: func(r history.Record) {
					if p, ok := r.(*history.Pipe); ok {
						pipe = p
					}
				},
				close: func(out map[string]Metric) {
					if pipe != nil {
						out[PipeRoundtrip] = Metric{Unit: "ns", P50: new(float64(pipe.P50)), P99: new(float64(pipe.P99)), Count: new(int64(pipe.Count))}
						if pipe.Clock > 0 {
							out[AgentsClock] = Metric{Unit: "ns", Value: new(float64(pipe.Clock))}
						}
					}
				},
			}
		},
	})
}
