package report

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// queueing folds what only queues have, besides latency and throughput.
type queueing struct {
	due, taken    int64 // items
	items         int64 // the rest is over the streams only
	notifications int64
	requests      int64
}

func (q *queueing) sample(s *history.Sample) {
	switch {
	case s.Op == history.Put:
		q.due++
	case s.Op == history.Take && s.Outcome == history.OK:
		q.taken++
	}
}

func (q *queueing) traffic(t *history.Traffic) {
	q.items += t.Count
	q.notifications += t.Notifications
	q.requests += t.Requests
}

func (q *queueing) metrics() map[string]Metric {
	out := map[string]Metric{}
	if q.due > 0 {
		// A put without a reply may have come to nothing, or to several copies: more
		// taken than due is no debt.
		out[QueueUndelivered] = Metric{Unit: "1", Value: new(float64(max(0, q.due-q.taken))), Count: &q.due}
	}
	if q.items > 0 && q.notifications > 0 {
		out[QueueYield] = Metric{Unit: "1/notification", Value: new(float64(q.items) / float64(q.notifications)), Count: &q.items}
	}
	if q.items > 0 {
		out[QueueRequests] = Metric{Unit: "1/item", Value: new(float64(q.requests) / float64(q.items)), Count: &q.items}
	}
	return out
}

// item is a queue's item of which one half is known: put, or taken before the put
// returned.
type item struct {
	isPut     bool
	phase     string
	due, call time.Duration // of the put
	taken     time.Duration
}

func (f *folding) put(s *history.Sample) {
	put := item{isPut: true, phase: s.Phase, due: s.Due, call: s.Call}
	if i, ok := f.items[s.Item]; ok && !i.isPut {
		delete(f.items, s.Item)
		f.delivered(put, i.taken)
		return
	}
	f.items[s.Item] = put
}

func (f *folding) take(s *history.Sample) {
	if i, ok := f.items[s.Item]; ok && i.isPut {
		delete(f.items, s.Item)
		f.delivered(i, s.Return)
		return
	}
	f.items[s.Item] = item{taken: s.Return}
}

// delivered counts the latency of an item that was taken at that time.
func (f *folding) delivered(put item, taken time.Duration) {
	metric := f.queueLatency(put.phase)
	f.observe(metric, put.phase, taken-put.due)
	f.naive.observe(metric, put.phase, put.due, put.call, taken)
	if f.onHandoff != nil { // a queue hands items on
		f.onHandoff(metric, Handoff{At: taken, Latency: taken - put.due})
	}
}

// queueLatency is the metric for items of the phase: those that met a fault are kept
// apart, or one fault would be all that the high percentiles show.
func (f *folding) queueLatency(phase string) string {
	p, noted := f.phases[phase]
	for _, w := range f.faults {
		if noted && w.Start >= p.Start && (p.End == 0 || w.Start <= p.End) {
			return QueueLatencyFaults
		}
	}
	return QueueLatency
}
