package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/internal/stats"
)

// NaiveSuffix, after the name of a latency, is the same counted from the call instead
// of from the due time: what a benchmark shows that starts its watch only once it gets
// round to calling. In a stall it calls once, waits, and shows one bad operation, where
// all that were due have waited (coordinated omission). It stands beside the true one
// wherever operations were due at times of their own, to show the difference.
const NaiveSuffix = ".naive"

// naiveOf is the definition of a latency's naive twin.
func naiveOf(latency string) Definition {
	return Definition{Name: latency + NaiveSuffix, Unit: "ns", Better: Lower, Distribution: true,
		Help: "the same counted from the call: it hides what a stall delayed; do not gate on it"}
}

// naive is a latency from the call.
type naive struct {
	histogram *stats.Histogram
	late      int64 // operations that were called noticeably after they were due
}

// noticed is by how much a call must be behind its due time to show that the two are
// not one instant: more than between two readings of the clock, less than a timer is late.
const noticed = 20 * time.Microsecond

func (x *distributed) observeNaive(due, call, end time.Duration) {
	if x.naive == nil {
		x.naive = &naive{histogram: stats.NewHistogram()}
	}
	x.naive.histogram.Record(end - call)
	if call-due > noticed {
		x.naive.late++
	}
}

// shown says whether more than 1 % of the operations were called late: a closed loop
// calls at once, so that the two latencies are the same.
func (n *naive) shown() bool { return n != nil && n.late*100 > n.histogram.Count() }
