package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// Names of the metrics of queues.
const (
	QueueLatency       = "queue.latency"
	queueLatencyFaults = "queue.latency.faults"
	QueueYield         = "queue.yield"
	QueueRequests      = "queue.requests"
	QueueUndelivered   = "queue.undelivered"
)

func init() {
	register(Family{
		Order: 30, About: "Queues:",
		Definitions: []Definition{
			{Name: QueueLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "an item's way through the queue", Head: "queue",
				Shown: []string{"p50", "p99"}, Main: "p50", Decides: true,
				Help: "Time from the scheduled start of a put until the take of its item returns"},
			{Name: queueLatencyFaults, Unit: "ns", Better: Lower, Distribution: true,
				Help: "As queue.latency, in phases with injected faults"},
			{Name: QueueYield, Unit: "1/notification", Better: Higher,
				Help: "Items taken per notification, in streams: below 1 if consumers are notified in vain, above 1 if one notification serves several items"},
			{Name: QueueRequests, Unit: "1/item", Better: Lower, Help: "Requests per item taken, in streams"},
			{Name: QueueUndelivered, Unit: "1", Better: Lower, Help: "Scheduled items that were not put and taken by the end of the phase"},
		},
		collect: func(f *Fold) collector {
			x := &queue{fold: f, items: map[string]item{}}
			return collector{sample: x.sample, record: x.record, close: x.close}
		},
	})
}

// queue collects the metrics of queues.
type queue struct {
	fold  *Fold
	items map[string]item // items that were put and not taken, or taken and not put
	due   int64           // items

	// Over the streams only.
	streamed, notifications, requests int64
}

// item is a queue's item of which one half is known: put, or taken before the put returned.
type item struct {
	isPut  bool
	counts bool
	phase  string
	due    time.Duration
	taken  time.Duration
}

func (x *queue) sample(s *history.Sample, p *history.Phase) {
	ok, flap := s.Outcome == history.OK, p.Kind == history.FlapPhase
	half := item{counts: ok && !flap, phase: s.Phase, due: s.Due, taken: s.Return}
	switch {
	case s.Op == history.Put:
		x.due++
		half.isPut = true
		x.add(s.Item, half)
	case s.Op == history.Take && ok:
		x.add(s.Item, half)
	}
}

// add adds one half of an item.
func (x *queue) add(id string, half item) {
	other, known := x.items[id]
	if !known || other.isPut == half.isPut {
		x.items[id] = half
		return
	}
	delete(x.items, id)
	switch {
	case !half.counts || !other.counts:
	case half.isPut:
		x.delivered(half, other.taken)
	default:
		x.delivered(other, half.taken)
	}
}

// delivered counts the latency of an item that was taken at that time.
func (x *queue) delivered(put item, taken time.Duration) {
	if p := x.fold.phase(put.phase); p.Ramp() {
		x.fold.arrived.add(p, served{put.due, taken, true})
		return
	}
	metric := x.latency(put.phase)
	x.fold.latency(metric, put.phase, put.due, taken)
	x.fold.OnHandoff(metric, Handoff{At: taken, Latency: taken - put.due})
}

// latency returns the metric for items of the phase: items that met a fault are separate, or one
// fault would determine the high percentiles.
func (x *queue) latency(phase string) string {
	p := x.fold.phases[phase]
	for _, w := range x.fold.history.Faults {
		if p != nil && w.Start >= p.Start && (p.End == 0 || w.Start <= p.End) {
			return queueLatencyFaults
		}
	}
	return QueueLatency
}

func (x *queue) record(r history.Record) {
	if t, ok := r.(*history.Traffic); ok && t.Of == history.OfItem {
		x.streamed += t.Count
		x.notifications += t.Notifications
		x.requests += t.Requests
	}
}

func (x *queue) close(out map[string]Metric) {
	if x.due > 0 {
		waiting := 0.0
		for _, i := range x.items {
			if i.isPut {
				waiting++
			}
		}
		out[QueueUndelivered] = Metric{Unit: "1", Value: &waiting, Count: &x.due}
	}
	if x.streamed > 0 && x.notifications > 0 {
		out[QueueYield] = Metric{Unit: "1/notification", Value: new(float64(x.streamed) / float64(x.notifications)), Count: &x.streamed}
	}
	if x.streamed > 0 {
		out[QueueRequests] = Metric{Unit: "1/item", Value: new(float64(x.requests) / float64(x.streamed)), Count: &x.streamed}
	}
}
