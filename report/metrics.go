package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Names of the metrics.
const (
	// AcquireLatency is from due to return, of the acquires that were granted; in
	// the phases that are not counted, where there are such.
	AcquireLatency = "acquire.latency"
	// HandoffLatency is from the call of release to the next grant's return, where
	// no fault was near and the next one waited already. It is taken from the churn,
	// where there is one: there all clients are in line all the time, while the line
	// of a drain is half as long on average.
	HandoffLatency = "handoff.latency"
	// HandoffLatencyDrain is the same in the drain, where there is a churn as well.
	HandoffLatencyDrain = "handoff.latency.drain"
	// FailoverLatency is from the fault that struck the holder to the next grant's return.
	FailoverLatency = "failover.latency"
	// LeaderlessTime is the part of a failover in which nobody believed to hold; in a
	// succession that of every change of leader, whatever its cause.
	LeaderlessTime = "leaderless.time"
	// BeliefOverlap is the part of a failover in which the victim still believed
	// although the next was in already: exposure, not violation. 0 is the usual.
	BeliefOverlap = "belief.overlap"
	// QueueLatency is from the due time of a put to the return of the take.
	QueueLatency = "queue.latency"
	// QueueLatencyFaults is the same in the phases in which a fault struck.
	QueueLatencyFaults = "queue.latency.faults"
	// Throughput is grants, or items taken, a second, in the phases that are not counted.
	Throughput = "throughput"
	// Each of these is counted on the wire, per hand-off of the drain.
	FanoutNotifications = "fanout.notifications"
	FanoutRequests      = "fanout.requests"
	FanoutBytes         = "fanout.bytes"
	// FlapNotifications is how many notifications it caused, on the wire, that one
	// waiter lost its session and came back.
	FlapNotifications = "flap.notifications"
	// QueueYield is items taken per notification delivered, in streams: below 1 where
	// consumers are woken in vain, above where they find more than they were woken for.
	QueueYield = "queue.yield"
	// QueueRequests is requests per item taken, in streams.
	QueueRequests = "queue.requests"
	// QueueUndelivered is how many items were due and not put and taken in the end.
	QueueUndelivered = "queue.undelivered"
)

var (
	distributions = []string{
		AcquireLatency, HandoffLatency, HandoffLatencyDrain, FailoverLatency, LeaderlessTime, BeliefOverlap, QueueLatency, QueueLatencyFaults,
		AcquireLatency + NaiveSuffix, QueueLatency + NaiveSuffix, QueueLatencyFaults + NaiveSuffix,
		FailoverDetect, FailoverExpire, FailoverCommit, FailoverNotify, FailoverRelist, RecoveryTime, OutageTime, SlowTime,
	}
	values = []string{
		Throughput, FanoutNotifications, FanoutRequests, FanoutBytes,
		FlapNotifications, QueueYield, QueueRequests, QueueUndelivered, FailoverOutside, ConnectionsPeak, Fairness,
	}
	// selfPrefix is that of what the harness measured about itself.
	selfPrefix = "self."
	selfs      = []string{
		selfPrefix + history.CountTicks, selfPrefix + history.CountLateTicks, selfPrefix + history.CountLate, selfPrefix + history.CountLost,
		selfPrefix + history.CountBacklog, selfPrefix + history.CountCPU, selfPrefix + history.CountMachine,
	}
)

// folding folds a history into metrics, record by record and belief by belief.
type folding struct {
	phases     map[string]history.Phase
	churns     bool // there is a closed loop
	faults     []history.Fault
	healed     []time.Duration // see healing
	histograms map[string]*Histogram
	phaseOf    map[string]string // metric to the phase that it was taken from
	busy       map[string]int    // grants and items taken in the phases that are not counted
	fan        map[string]*ratio
	self       map[string]int64
	items      map[string]item // queue: those that were put and not taken, or taken and not put
	naive      naive
	flaps      ratio // of FlapNotifications
	queue      queueing
	last       verdict.Belief // the last holder
	held       bool           // last is set
	end        time.Duration
	onHandoff  func(metric string, h Handoff) // nil where nobody draws
	onFailover func(Failover)                 // nil where nobody draws
	over       failovers
	shares     shares
}

// ratio sums a count, the formula's value and the servers' count over rounds.
type ratio struct {
	handoffs, count, expectedHandoffs, expected, serverHandoffs, servers int64
}

func newFolding(h *history.History) *folding {
	f := &folding{
		phases: map[string]history.Phase{}, faults: h.Faults, healed: healing(h.Faults), histograms: map[string]*Histogram{},
		phaseOf: map[string]string{}, busy: map[string]int{}, fan: map[string]*ratio{},
		self: map[string]int64{}, items: map[string]item{}, naive: naive{}, shares: newShares(h.Header.Clients),
	}
	for _, p := range h.Phases {
		f.phases[p.Name] = p
		f.churns = f.churns || !p.Counted && !p.Flaps && !p.Struck && !p.Drill
	}
	return f
}

// observe adds a value to a metric. One that several phases contribute to names none.
func (f *folding) observe(metric, phase string, d time.Duration) {
	h := f.histograms[metric]
	if h == nil {
		h = NewHistogram()
		f.histograms[metric] = h
	}
	h.Record(d)
	switch was, ok := f.phaseOf[metric]; {
	case !ok:
		f.phaseOf[metric] = phase
	case was != phase:
		f.phaseOf[metric] = ""
	}
}

func (f *folding) add(n history.Numbered) {
	f.end = max(f.end, n.Time())
	switch {
	case n.Sample != nil:
		f.queue.sample(n.Sample)
		if n.Sample.Outcome == history.OK {
			f.sample(n.Sample)
		}
	case n.Note != nil && n.Note.Kind == history.Fan:
		f.count(n.Note.Counts)
		f.flap(n.Note.Counts)
	case n.Note != nil && n.Note.Kind == history.Traffic:
		f.queue.traffic(n.Note.Counts)
	case n.Note != nil && n.Note.Kind == history.Watch:
		for name, v := range n.Note.Counts {
			if !strings.HasPrefix(name, history.CountLimit) {
				f.self[name] = max(f.self[name], v)
			}
		}
	case n.Note != nil:
		f.followed(n.Note)
	}
}

// drainSuffix marks the acquires of a drain, until it is known whether there are others.
const drainSuffix = "/drain"

func (f *folding) sample(s *history.Sample) {
	if f.phases[s.Phase].Flaps {
		return // what is acquired or taken there is only to see that all is well
	}
	counted := f.phases[s.Phase].Counted
	paced := counted || f.phases[s.Phase].Drill || f.phases[s.Phase].Struck // the lab sets the pace: a rate would say nothing
	switch s.Op {
	case history.Acquire:
		name := AcquireLatency
		if counted {
			name += drainSuffix
		}
		if !paced {
			f.busy[s.Phase]++
			f.shares.add(s)
		}
		f.observe(name, s.Phase, s.Return-s.Due)
		f.naive.observe(name, s.Phase, s.Due, s.Call, s.Return)
	case history.Put:
		f.put(s)
	case history.Take:
		if !paced {
			f.busy[s.Phase]++
			f.shares.add(s)
		}
		f.take(s)
	}
}

func (f *folding) count(counts map[string]int64) {
	handoffs := counts[verdict.CountHandoffs]
	if handoffs <= 0 {
		return
	}
	for metric, key := range map[string]string{
		FanoutNotifications: verdict.CountNotifications, FanoutRequests: verdict.CountRequests, FanoutBytes: verdict.CountBytes,
	} {
		count, ok := counts[key]
		if !ok {
			continue
		}
		r := f.fan[metric]
		if r == nil {
			r = &ratio{}
			f.fan[metric] = r
		}
		r.handoffs += handoffs
		r.count += count
		if v, ok := counts[verdict.CountExpected+key]; ok {
			r.expectedHandoffs += handoffs
			r.expected += v
		}
		if v, ok := counts[verdict.CountServers]; ok && key == verdict.CountNotifications {
			r.serverHandoffs += handoffs
			r.servers += v
		}
	}
}

func (r *ratio) metric(unit string) Metric {
	per := func(n, handoffs int64) *float64 {
		if handoffs == 0 {
			return nil
		}
		return new(float64(n) / float64(handoffs))
	}
	return Metric{
		Unit: unit, Count: &r.handoffs, Value: per(r.count, r.handoffs),
		Expected: per(r.expected, r.expectedHandoffs), Servers: per(r.servers, r.serverHandoffs),
	}
}

// metrics returns everything that was measured; what was not is absent.
func (f *folding) metrics() map[string]Metric {
	f.preferChurn()
	out := map[string]Metric{}
	for name, h := range f.histograms {
		m := h.Metric()
		m.Phase = f.phaseOf[name]
		out[name] = m
	}
	f.naive.metrics(out)
	for name, r := range f.fan {
		unit := "1/handoff"
		if name == FanoutBytes {
			unit = "B/handoff"
		}
		out[name] = r.metric(unit)
	}
	if f.flaps.handoffs > 0 {
		out[FlapNotifications] = f.flaps.metric("1/flap")
	}
	maps.Copy(out, f.queue.metrics())
	if m, ok := f.throughput(); ok {
		out[Throughput] = m
	}
	f.addFailovers(out)
	f.addShares(out)
	for name, v := range f.self {
		m := Metric{Unit: "1", Value: new(float64(v))}
		switch name {
		case history.CountLate:
			m.Unit = "ns"
		case history.CountCPU, history.CountMachine: // noted in thousandths
			*m.Value /= 1000
		}
		out[selfPrefix+name] = m
	}
	return out
}

func (f *folding) preferChurn() {
	drained := f.histograms[AcquireLatency+drainSuffix]
	if drained == nil {
		return
	}
	delete(f.histograms, AcquireLatency+drainSuffix)
	if f.histograms[AcquireLatency] == nil {
		f.histograms[AcquireLatency] = drained
		f.phaseOf[AcquireLatency] = f.phaseOf[AcquireLatency+drainSuffix]
	}
}

func (f *folding) throughput() (Metric, bool) {
	var done int
	var time time.Duration
	names := slices.Sorted(maps.Keys(f.busy))
	for _, name := range names {
		p, noted := f.phases[name]
		if !noted {
			p.End = f.end // a history without phases is one phase
		}
		if end := cmp.Or(p.End, f.end); end > p.Start {
			done += f.busy[name]
			time += end - p.Start
		}
	}
	if time <= 0 {
		return Metric{}, false
	}
	m := Metric{Unit: "1/s", Value: new(float64(done) / time.Seconds()), Count: new(int64(done))}
	if len(names) == 1 {
		m.Phase = names[0]
	}
	return m, true
}
