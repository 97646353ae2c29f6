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

type queue struct {
	noopCollector
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
		x.fold.openLoops.add(p, scheduledOp{put.due, taken, true})
		return
	}
	x.fold.observe(x.latencyMetric(put.phase), put.phase, taken-put.due)
	x.fold.OnHandoff(Handoff{At: taken, Latency: taken - put.due})
}

// latencyMetric returns the metric for items of the phase. Phases with faults have a separate metric, because
// one fault would otherwise determine the high percentiles.
func (x *queue) latencyMetric(phase string) string {
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
		out[QueueUndelivered] = countedMetric(QueueUndelivered, waiting, x.due)
	}
	if x.streamed > 0 && x.notifications > 0 {
		out[QueueYield] = countedMetric(QueueYield, float64(x.streamed)/float64(x.notifications), x.streamed)
	}
	if x.streamed > 0 {
		out[QueueRequests] = countedMetric(QueueRequests, float64(x.requests)/float64(x.streamed), x.streamed)
	}
}

type memberLoads struct {
	noopCollector
	longestQueue *history.MemberLoad // the reply with the longest queue
	connections  int64
	answers      int64
	unanswered   map[string]int           // by member
	means        map[string]time.Duration // by member, the latest
	max          time.Duration
}

func (x *memberLoads) record(r history.Record) {
	l, is := r.(*history.MemberLoad)
	if !is {
		return
	}
	if l.Err != "" || l.Outstanding == nil || l.Connections == nil {
		x.unanswered[l.Member]++
		return
	}
	x.answers++
	if x.longestQueue == nil || *l.Outstanding > *x.longestQueue.Outstanding {
		x.longestQueue = l
	}
	x.connections = max(x.connections, *l.Connections)
	if l.LatencyMean != nil && l.LatencyMax != nil {
		x.means[l.Member], x.max = *l.LatencyMean, max(x.max, *l.LatencyMax)
	}
}

func (x *memberLoads) close(out map[string]Metric) {
	unanswered := int64(0)
	var members []string
	for _, m := range slices.Sorted(maps.Keys(x.unanswered)) {
		unanswered += int64(x.unanswered[m])
		members = append(members, fmt.Sprintf("%s %s", m, units.Plural(x.unanswered[m], "time")))
	}
	if x.answers+unanswered == 0 {
		return
	}
	out[MemberSilent] = countedMetric(MemberSilent, float64(unanswered), x.answers+unanswered).noted(strings.Join(members, ", "))
	if x.longestQueue == nil {
		return
	}
	queue := countedMetric(MemberQueue, float64(*x.longestQueue.Outstanding), x.answers).noted(x.longestQueueNote())
	queue.Phase = x.longestQueue.Phase
	out[MemberQueue] = queue
	out[MemberConnections] = countedMetric(MemberConnections, float64(x.connections), x.answers)
	if len(x.means) > 0 {
		out[MemberLatency] = value(MemberLatency, float64(x.max))
		out[MemberLatencyMean] = value(MemberLatencyMean, float64(slices.Max(slices.Collect(maps.Values(x.means)))))
	}
}

// longestQueueNote returns the member that had the longest queue, and the time; "" if all queues were empty.
func (x *memberLoads) longestQueueNote() string {
	switch {
	case *x.longestQueue.Outstanding == 0:
		return ""
	case x.longestQueue.Opening:
		return x.longestQueue.Member + ", while sessions were being opened"
	}
	return x.longestQueue.Member + ", after all sessions had been opened"
}

type fanout struct {
	noopCollector
	notifications, requests, bytes, flaps ratio
	fsyncs, writes                        history.MemberTimes
}

func (x *fanout) record(r history.Record) {
	t, ok := r.(*history.Traffic)
	if !ok {
		return
	}
	switch t.Of {
	case history.OfHandoff:
		x.notifications.add(t.Count, t.Notifications, t.ExpectedNotifications, t.ServerNotifications)
		x.requests.add(t.Count, t.Requests, t.ExpectedRequests, nil)
		x.bytes.add(t.Count, t.Bytes, nil, nil)
		x.fsyncs, x.writes = x.fsyncs.Add(t.Fsyncs), x.writes.Add(t.Writes)
	case history.OfFlap:
		x.flaps.add(t.Count, t.Notifications, t.ExpectedNotifications, t.ServerNotifications)
	}
}

func (x *fanout) close(out map[string]Metric) {
	x.notifications.close(out, FanoutNotifications)
	x.requests.close(out, FanoutRequests)
	x.bytes.close(out, FanoutBytes)
	x.flaps.close(out, FlapNotifications)
	for name, t := range map[string]history.MemberTimes{MemberFsync: x.fsyncs, MemberWrite: x.writes} {
		if t.Count > 0 && t.Sum >= 0 {
			out[name] = countedMetric(name, float64(t.Sum)/float64(t.Count), t.Count)
		}
	}
}

type ratio struct {
	times, count, expectedTimes, expected, serverTimes, servers int64
}

// add adds a round; expected and servers are nil if unknown.
func (r *ratio) add(times, count int64, expected, servers *int64) {
	if times <= 0 {
		return
	}
	r.times, r.count = r.times+times, r.count+count
	if expected != nil {
		r.expectedTimes, r.expected = r.expectedTimes+times, r.expected+*expected
	}
	if servers != nil {
		r.serverTimes, r.servers = r.serverTimes+times, r.servers+*servers
	}
}

func (r *ratio) close(out map[string]Metric, name string) {
	if r.times == 0 {
		return
	}
	per := func(n, times int64) *float64 {
		if times == 0 {
			return nil
		}
		return new(float64(n) / float64(times))
	}
	d, _, _ := Find(name)
	out[name] = Metric{
		Unit: d.Unit, Count: &r.times, Value: per(r.count, r.times),
		Expected: per(r.expected, r.expectedTimes), Servers: per(r.servers, r.serverTimes),
	}
}
