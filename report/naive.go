package report

import "time"

// NaiveSuffix, after the name of a latency, is the same counted from the call instead
// of from the due time: what a benchmark shows that starts its watch only once it gets
// round to calling. In a stall it calls once, waits, and shows one bad operation, where
// all that were due have waited (coordinated omission). It stands beside the true one
// wherever operations were due at times of their own, to show the difference.
const NaiveSuffix = ".naive"

// naive folds latencies from the call, by the metric that counts from due.
type naive map[string]*naiveLatency

type naiveLatency struct {
	histogram *Histogram
	phase     string
	late      int64 // operations that were called noticeably after they were due
}

// noticed is by how much a call must be behind its due time to show that the two are
// not one instant: more than between two looks at the clock, less than a timer is late.
const noticed = 20 * time.Microsecond

func (n naive) observe(metric, phase string, due, call, end time.Duration) {
	l := n[metric]
	if l == nil {
		l = &naiveLatency{histogram: NewHistogram(), phase: phase}
		n[metric] = l
	}
	l.histogram.Record(end - call)
	if call-due > noticed {
		l.late++
	}
	if l.phase != phase {
		l.phase = ""
	}
}

// metrics adds those of open loops, in which more than 1 % of the operations were
// called late: a closed loop calls at once, so that the two latencies are the same.
func (n naive) metrics(out map[string]Metric) {
	for metric, l := range n {
		if _, shown := out[metric]; shown && l.late*100 > l.histogram.Count() {
			m := l.histogram.Metric()
			m.Phase = l.phase
			out[metric+NaiveSuffix] = m
		}
	}
}
