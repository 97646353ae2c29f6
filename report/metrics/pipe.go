package metrics

import "github.com/zkbench/zkbench/report/history"

// PipeRoundtrip names the time between the harness and a driver.
const PipeRoundtrip = "pipe.roundtrip"

// AgentsClock names the possible error of agents' clocks.
const AgentsClock = "agents.clock"

func init() {
	register(Family{
		Order: 75, About: "What lies between the harness and a subject that is a program of its own:",
		Definitions: []Definition{{Name: PipeRoundtrip, Unit: "ns", Better: Lower, Fields: []string{"count", "p50", "p99"},
			Help: "how long a request through the driver's pipe and its answer take (p50, p99). A driver that says " +
				"when its recipe's own calls were made and returned has its latencies without that; those of another have it in them"},
			{Name: AgentsClock, Unit: "ns", Better: Lower,
				Help: "by how much the clock of an agent may have been wrong, of the worst. A latency that begins and ends on one agent is exact; " +
					"one that ends on another (hand-off, failover) may be wrong by this twice. Beliefs are narrowed by it"}},
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
