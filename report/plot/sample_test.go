package plot

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// sampleTrials invents a plausible herd run: the parent variant pays per
// contender, the predecessor variant does not.
func sampleTrials() []report.Trial {
	var out []report.Trial
	for i, n := range []int{10, 25, 50, 100} {
		noise := 1 + 0.1*float64(i%2)
		out = append(out, sampleTrial("lock/parent", n, noise*0.9e6*math.Pow(float64(n), 0.75), float64(n+1)/2),
			sampleTrial("lock/predecessor", n, noise*0.7e6, float64(n-1)/float64(n)),
			sampleTrial("lock/go-zookeeper", n, 0.9e6, float64(n-1)/float64(n)))
	}
	return out
}

func sampleTrial(subject string, clients int, p50, expected float64) report.Trial {
	ptr := func(v float64) *float64 { return &v }
	count := int64(clients * 10)
	return report.Trial{
		Name: "herd-" + fileName(subject) + "-" + string(rune('a'+clients%26)), Cell: history.Cell{Scenario: "herd", Subject: subject, Clients: clients},
		Metrics: map[string]metrics.Metric{
			"handoff.latency": {Unit: "ns", Count: &count, Min: ptr(p50 / 3), Mean: ptr(p50 * 1.2), P50: ptr(p50),
				P90: ptr(p50 * 2), P99: ptr(p50 * 4), P999: ptr(p50 * 6), Max: ptr(p50 * 7)},
			"fanout.notifications": {Unit: "1/handoff", Value: ptr(expected * 0.97), Expected: ptr(expected)},
			"throughput":           {Unit: "1/s", Count: &count, Value: ptr(1e9 / (p50 + 2e6))},
		},
	}
}

func sampleScenario() (matrix.Scenario, Glyphs) {
	s := matrix.GroupScenarios(sampleTrials())[0]
	var labels []string
	for _, x := range s.Series {
		labels = append(labels, x.Label)
	}
	return s, NewGlyphs(labels)
}

// sampleTimeline invents clients that hold in turn, with faults and, when asked,
// two holders at once.
func sampleTimeline(clients, rounds int, overlaps bool) Timeline {
	r := rand.New(rand.NewPCG(7, uint64(clients)))
	t := Timeline{Trial: "herd-lock-parent-" + string(rune('a'+clients%26)), Label: "lock/parent", Clients: clients, Trace: &report.Trace{}}
	now := 2 * time.Second
	for i := range clients * rounds {
		wait := time.Duration(2e6 * math.Exp(r.NormFloat64()*0.5))
		failover := i%37 == 20
		if failover {
			t.Faults = append(t.Faults, report.Fault{Fault: "session.close", Target: "client 3 (holder)", Start: now, End: now + 5*time.Millisecond, Proof: map[bool]string{true: "seen"}[i%2 == 0]})
			wait += 300 * time.Millisecond
		}
		now += wait
		t.Handoffs = append(t.Handoffs, metrics.Handoff{At: now, Latency: wait, Failover: failover})
		end := now + 20*time.Millisecond
		if overlaps && i == clients/2 {
			end += 12 * time.Millisecond
			o := verdict.Overlap{Older: i * 7 % clients, Newer: (i + 1) * 7 % clients, Start: end - 10*time.Millisecond, End: end}
			t.Overlaps = append(t.Overlaps, o)
			o.Exposure, o.Start, o.End = true, o.Start+time.Second, o.End+time.Second
			t.Overlaps = append(t.Overlaps, o)
		}
		t.Holds = append(t.Holds, report.Hold{Client: i * 7 % clients, Start: now, End: end})
		now += 20 * time.Millisecond
	}
	t.Faults = append(t.Faults, report.Fault{Fault: "partition.isolate", Target: "zk2 (leader)", Start: 4 * time.Second, End: 5 * time.Second, Proof: "seen"})
	return t
}
