package metrics

import (
	"math"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

// meanOf is the metric's count and the mean in milliseconds; -1 where it is absent.
func meanOf(measured map[string]Metric, name string) (count int64, mean float64) {
	m, ok := measured[name]
	if !ok || m.Count == nil {
		return 0, -1
	}
	return *m.Count, *m.Mean / 1e6
}

func TestHandoffs(t *testing.T) {
	for _, c := range []struct {
		name   string
		line   *line
		metric string
		count  int64
		mean   float64
	}{
		{"a hand-off lasts from the call of release to the next grant's return",
			new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40), HandoffLatency, 1, 7},
		{"whatever their clocks may be wrong by",
			new(line).clock(3, holds("p", 1, 5, 0, 10, 20)).clock(2, holds("p", 2, 6, 0, 27, 40)), HandoffLatency, 1, 7},
		{"even where that leaves nothing of a belief",
			new(line).clock(8, holds("p", 1, 5, 0, 10, 20)).clock(9, holds("p", 2, 6, 0, 27, 40)), HandoffLatency, 1, 7},
		{"and where clocks alone put the next grant before the release, it took no time",
			new(line).clock(8, holds("p", 1, 5, 0, 10, 30)).clock(9, holds("p", 2, 6, 0, 27, 40)), HandoffLatency, 1, 0},
		{"an acquire lasts for what its client's clock read",
			new(line).clock(3, holds("p", 1, 5, 0, 10, 20)), AcquireLatency, 1, 10},
		{"and a failover until what that of the next one read",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).session(history.Lost, 1, 400).clock(50, holds("p", 2, 6, 0, 600, 700)), FailoverLatency, 1, 500},
		{"nobody waited, so there was no hand-off",
			new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 21, 27, 40), HandoffLatency, 0, -1},
		{"a fault in the way makes it no hand-off",
			new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40).fault(3, 22, 23), HandoffLatency, 0, -1},
		{"an early fault that was never healed is in the way, whatever came after it",
			new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40).fault(3, 1, 0).fault(3, 2, 3), HandoffLatency, 0, -1},
		{"a fault that is over is not in the way",
			new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40).fault(3, 12, 13), HandoffLatency, 1, 7},
		{"a grant in another phase is no hand-off",
			new(line).hold("p", 1, 5, 0, 10, 20).hold("q", 2, 6, 0, 27, 40), HandoffLatency, 0, -1},
		{"a restored grant is not handed on",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Suspended, 1, 15).session(history.Restored, 1, 18), FailoverLatency, 0, -1},
		{"a fault that hits the holder begins a failover",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"so does one whose effect the holder's own clock puts a moment before it",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Suspended, 1, 99).fault(1, 100, 110).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"but none that came long after",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Lost, 1, 50).fault(1, 100, 110).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 0, -1},
		{"a failover is leaderless since the victim stopped to believe",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), LeaderlessTime, 1, 200},
		{"a failover without exposure has an overlap of 0",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), BeliefOverlap, 1, 0},
		{"a victim that does not know yet overlaps with the next",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).hold("p", 2, 6, 0, 300, 700).session(history.Lost, 1, 400), BeliefOverlap, 1, 100},
		{"a fault on a member that costs the holder its session begins a failover",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(-1, 100, 200).session(history.Suspended, 1, 150).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"a holder that was killed without a fault begins a failover at its death",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Killed, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 200},
		{"a fault that was under way when its victim was granted begins a failover",
			new(line).hold("p", 1, 5, 0, 110, 0).fault(1, 100, 120).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"a fault that was over when its victim was granted is none of its",
			new(line).hold("p", 1, 5, 0, 110, 0).fault(1, 100, 105).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 0, -1},
		{"of a loss without a known fault it is only known for how long nobody led",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), LeaderlessTime, 1, 200},
		{"doubts after the fault are leaderless, too",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Suspended, 1, 50).session(history.Restored, 1, 80).fault(1, 100, 110).
				session(history.Suspended, 1, 150).session(history.Restored, 1, 250).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), LeaderlessTime, 1, 300},
		{"with a churn, the drain's hand-offs have a name of their own",
			new(line).drain(0, 27).phase("churn", 28, 100).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25).
				hold("churn", 1, 7, 30, 40, 50).hold("churn", 2, 8, 30, 59, 60), HandoffLatencyDrain, 1, 3},
		{"with a churn, hand-offs are the churn's: there the line is always full",
			new(line).drain(0, 27).phase("churn", 28, 100).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25).
				hold("churn", 1, 7, 30, 40, 50).hold("churn", 2, 8, 30, 59, 60), HandoffLatency, 1, 9},
		{"without a churn, hand-offs are the drain's",
			new(line).drain(0, 27).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25), HandoffLatency, 1, 3},
		{"acquiring is measured outside the drain, where there is an outside",
			new(line).drain(0, 100).
				hold("drain", 1, 5, 0, 10, 20).hold("churn", 1, 7, 30, 44, 50), AcquireLatency, 1, 14},
		{"acquiring is measured in the drain, where there is nothing else",
			new(line).drain(0, 100).
				hold("drain", 1, 5, 0, 10, 20), AcquireLatency, 1, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			count, mean := meanOf(c.line.measure(), c.metric)
			if count != c.count || math.Abs(mean-c.mean) > 1e-9 {
				t.Errorf("%s: %d values with mean %v ms, want %d with %v", c.metric, count, mean, c.count, c.mean)
			}
		})
	}
}
