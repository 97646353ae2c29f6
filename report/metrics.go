package report

import (
	"cmp"
	"maps"
	"slices"
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

	// What the harness saw of itself.
	SelfTicks      = selfPrefix + "ticks"        // of its own timer
	SelfLateTicks  = selfPrefix + "ticks.late"   // that came more than 10 ms late
	SelfLate       = selfPrefix + "late.max"     // by how much at worst
	SelfRecords    = selfPrefix + "records"      // written
	SelfLost       = selfPrefix + "records.lost" // must be 0
	SelfBacklog    = selfPrefix + "backlog.max"  // records that waited to be written, at most
	SelfCPU        = selfPrefix + "cpu.own"      // share of all processors that this process used
	SelfMachineCPU = selfPrefix + "cpu.machine"  // share that everything used

	selfPrefix = "self."
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
	selfs = []string{SelfTicks, SelfLateTicks, SelfLate, SelfRecords, SelfLost, SelfBacklog, SelfCPU, SelfMachineCPU}
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
	self       *history.Self
	items      map[string]item // queue: those that were put and not taken, or taken and not put
	naive      naive
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
		items: map[string]item{}, naive: naive{}, shares: newShares(h.Header.Clients),
	}
	for _, p := range h.Phases {
		f.phases[p.Name] = p
		f.churns = f.churns || p.Pace != history.ByHarness
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
	switch r := n.Record.(type) {
	case *history.Sample:
		f.queue.sample(r)
		if r.Outcome == history.OK {
			f.sample(r)
		}
	case *history.Traffic:
		f.traffic(r)
	case *history.Self:
		f.self = r
	case *history.Failover:
		f.failedOver(failoverOf(r), r)
	case *history.Recovered:
		f.observe(RecoveryTime, r.Phase, r.At-r.Healing)
	case *history.Connections:
		if r.Over > 0 {
			f.over.counted = true
			f.over.peak = max(f.over.peak, float64(r.Made)/r.Over.Seconds())
		}
	}
}

// drainSuffix marks the acquires of a drain, until it is known whether there are others.
const drainSuffix = "/drain"

func (f *folding) sample(s *history.Sample) {
	phase := f.phases[s.Phase]
	if phase.Kind == history.FlapPhase {
		return // operations there only show that all is well
	}
	counted, paced := phase.Kind == history.DrainPhase, phase.Pace == history.ByHarness
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

func (f *folding) traffic(t *history.Traffic) {
	switch t.Of {
	case history.OfHandoff:
		f.ratio(FanoutNotifications).add(t.Count, t.Notifications, t.ExpectedNotifications, t.ServerNotifications)
		f.ratio(FanoutRequests).add(t.Count, t.Requests, t.ExpectedRequests, nil)
		f.ratio(FanoutBytes).add(t.Count, t.Bytes, nil, nil)
	case history.OfFlap:
		f.ratio(FlapNotifications).add(t.Count, t.Notifications, t.ExpectedNotifications, t.ServerNotifications)
	case history.OfItem:
		f.queue.traffic(t)
	}
}

func (f *folding) ratio(metric string) *ratio {
	if f.fan[metric] == nil {
		f.fan[metric] = &ratio{}
	}
	return f.fan[metric]
}

// add adds a round; expected and servers are nil where nobody knows them.
func (r *ratio) add(times, count int64, expected, servers *int64) {
	if times <= 0 {
		return
	}
	r.handoffs, r.count = r.handoffs+times, r.count+count
	if expected != nil {
		r.expectedHandoffs, r.expected = r.expectedHandoffs+times, r.expected+*expected
	}
	if servers != nil {
		r.serverHandoffs, r.servers = r.serverHandoffs+times, r.servers+*servers
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
		if r.handoffs > 0 {
			out[name] = r.metric(fanUnits[name])
		}
	}
	maps.Copy(out, f.queue.metrics())
	if m, ok := f.throughput(); ok {
		out[Throughput] = m
	}
	f.addFailovers(out)
	f.addShares(out)
	f.addSelf(out)
	return out
}

var fanUnits = map[string]string{
	FanoutNotifications: "1/handoff", FanoutRequests: "1/handoff", FanoutBytes: "B/handoff", FlapNotifications: "1/flap",
}

// addSelf adds what the harness measured about itself.
func (f *folding) addSelf(out map[string]Metric) {
	s := f.self
	if s == nil {
		return
	}
	for name, v := range map[string]int64{SelfTicks: s.Ticks, SelfLateTicks: s.LateTicks, SelfRecords: s.Records, SelfLost: s.Lost, SelfBacklog: s.MaxBacklog} {
		out[name] = Metric{Unit: "1", Value: new(float64(v))}
	}
	out[SelfLate] = Metric{Unit: "ns", Value: new(float64(s.LateMax))}
	for name, share := range map[string]*float64{SelfCPU: s.CPU, SelfMachineCPU: s.MachineCPU} {
		if share != nil {
			out[name] = Metric{Unit: "1", Value: share}
		}
	}
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
