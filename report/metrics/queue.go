package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
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
			{Name: QueueLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "delivery of an item", Head: "queue",
				Shown: []string{"p50", "p99"}, Main: "p50", Decides: true,
				Help: "Time from the scheduled start of a put until the take of its item returns"},
			{Name: queueLatencyFaults, Unit: "ns", Better: Lower, Distribution: true,
				Help: "Like queue.latency, but in phases with injected faults"},
			{Name: QueueYield, Unit: "1/notification", Better: Higher,
				Help: "Items taken per notification, in streams: below 1 if some notifications yield no item, above 1 if one notification serves several items"},
			{Name: QueueRequests, Unit: "1/item", Better: Lower, Help: "Requests per item taken, in streams"},
			{Name: QueueUndelivered, Unit: "1", Better: Lower, Help: "Scheduled items that were not put and taken by the end of the phase"},
		},
		collect: func(f *Fold) collector {
			x := &queue{fold: f, items: map[string]item{}}
			return collector{sample: x.sample, record: x.record, close: x.close}
		},
	})
}

type queue struct {
	fold  *Fold
	items map[string]item // items of which only the put or only the take was recorded so far
	due   int64           // items

	// Totals over the streams only.
	streamed, notifications, requests int64
}

// item is a queue's item of which only one half is known: its put, or its take.
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

func (x *queue) delivered(put item, taken time.Duration) {
	if p := x.fold.phase(put.phase); p.Ramp() {
		x.fold.arrived.add(p, served{put.due, taken, true})
		return
	}
	metric := x.latency(put.phase)
	x.fold.latency(metric, put.phase, put.due, taken)
	x.fold.OnHandoff(metric, Handoff{At: taken, Latency: taken - put.due})
}

// latency returns the metric for items of the phase. Phases with faults have a separate metric, because
// one fault would otherwise determine the high percentiles.
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

// Names of the metrics of the members' load.
const (
	MemberQueue       = "member.queue"
	MemberLatency     = "member.latency.max"
	MemberLatencyMean = "member.latency.mean"
	MemberConnections = "member.connections"
	MemberSilent      = "member.silent"
)

func init() {
	register(Family{
		Order: 67, About: "The members' load in a connect, as they report it (mntr):",
		Definitions: []Definition{
			{Name: MemberQueue, Unit: "1", Better: Lower, Shown: []string{"value"}, Main: "value",
				Help: "Maximum number of requests that a member had received but not answered; count is the number of answers from members"},
			{Name: MemberLatency, Unit: "ns", Better: Lower, Help: "A member's longest request latency, to the millisecond"},
			{Name: MemberLatencyMean, Unit: "ns", Better: Lower, Help: "Mean request latency of the slowest member, over the phase or since its start"},
			{Name: MemberConnections, Unit: "1", Help: "Maximum number of client connections of a member"},
			{Name: MemberSilent, Unit: "1", Better: Lower, Help: "Queries for the load that members did not answer; count is the number of queries"},
		},
		collect: func(*Fold) collector {
			x := &memberLoads{silent: map[string]int{}, means: map[string]time.Duration{}}
			return collector{record: x.record, close: x.close}
		},
	})
}

type memberLoads struct {
	most        *history.MemberLoad // the reply with the longest queue
	connections int64
	answers     int64
	silent      map[string]int           // by member
	means       map[string]time.Duration // by member, the latest
	max         time.Duration
}

func (x *memberLoads) record(r history.Record) {
	l, is := r.(*history.MemberLoad)
	if !is {
		return
	}
	if l.Err != "" || l.Outstanding == nil || l.Connections == nil {
		x.silent[l.Member]++
		return
	}
	x.answers++
	if x.most == nil || *l.Outstanding > *x.most.Outstanding {
		x.most = l
	}
	x.connections = max(x.connections, *l.Connections)
	if l.LatencyMean != nil && l.LatencyMax != nil {
		x.means[l.Member], x.max = *l.LatencyMean, max(x.max, *l.LatencyMax)
	}
}

func (x *memberLoads) close(out map[string]Metric) {
	silent := int64(0)
	var who []string
	for _, m := range slices.Sorted(maps.Keys(x.silent)) {
		silent += int64(x.silent[m])
		who = append(who, fmt.Sprintf("%s %s", m, units.Plural(x.silent[m], "time")))
	}
	if x.answers+silent == 0 {
		return
	}
	out[MemberSilent] = of(MemberSilent, float64(silent), x.answers+silent)
	if silent > 0 {
		m := out[MemberSilent]
		m.Note = strings.Join(who, ", ")
		out[MemberSilent] = m
	}
	if x.most == nil {
		return
	}
	queue := of(MemberQueue, float64(*x.most.Outstanding), x.answers)
	queue.Phase, queue.Note = x.most.Phase, x.when()
	out[MemberQueue] = queue
	out[MemberConnections] = of(MemberConnections, float64(x.connections), x.answers)
	if len(x.means) > 0 {
		out[MemberLatency] = value(MemberLatency, float64(x.max))
		out[MemberLatencyMean] = value(MemberLatencyMean, float64(slices.Max(slices.Collect(maps.Values(x.means)))))
	}
}

// when returns the member that had the longest queue, and the time; "" if all queues were empty.
func (x *memberLoads) when() string {
	switch {
	case *x.most.Outstanding == 0:
		return ""
	case x.most.Opening:
		return x.most.Member + ", while sessions were being opened"
	}
	return x.most.Member + ", after all sessions had been opened"
}
