package metrics

import "github.com/zkbench/zkbench/report/history"

// AcquireLatency names the latency of acquiring.
const AcquireLatency = "acquire.latency"

func init() {
	register(Family{
		Order: 40, About: "Acquiring:",
		Definitions: []Definition{
			{Name: AcquireLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "acquiring", Head: "acquire", Shown: []string{"p50"},
				Help: "Time from the scheduled start of an acquire until it was granted; without ramps, and without drains unless there is nothing else"},
		},
		collect: collectAcquires,
	})
}

// inDrain marks the acquires of a drain, until it is known whether there are others.
const inDrain = AcquireLatency + "/drain"

func collectAcquires(f *Fold) collector {
	return collector{
		sample: func(s *history.Sample, p *history.Phase) {
			if s.Op != history.Acquire || s.Outcome != history.OK || p.Kind == history.FlapPhase {
				return
			}
			name := AcquireLatency
			if p.Kind == history.DrainPhase {
				name = inDrain
			}
			f.latency(name, s.Phase, s.Due, s.Return-s.Clock)
		},
		close: func(map[string]Metric) {
			drained := f.distributions[inDrain]
			delete(f.distributions, inDrain)
			if drained != nil && f.distributions[AcquireLatency] == nil {
				f.distributions[AcquireLatency] = drained
			}
		},
	}
}
