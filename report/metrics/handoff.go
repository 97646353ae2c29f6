package metrics

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

const inDrain = AcquireLatency + "/drain"

type handoffs struct {
	noopCollector
	fold *Fold
}

func (x *handoffs) sample(s *history.Sample, p *history.Phase) {
	if s.Op != history.Acquire || s.Outcome != history.OK || p.Kind == history.FlapPhase || p.Ramp() {
		return // beyond the subject's capacity, the latency only depends on the length of the ramp
	}
	name := AcquireLatency
	if p.Kind == history.DrainPhase {
		name = inDrain
	}
	x.fold.observe(name, s.Phase, s.Return-s.Clock-s.Due)
}

func (x *handoffs) close(map[string]Metric) {
	all := x.fold.distributions
	if drained := all[inDrain]; drained != nil && all[AcquireLatency] == nil {
		all[AcquireLatency] = drained
	}
	delete(all, inDrain)
}

func (x *handoffs) record(r history.Record) {
	if f, ok := r.(*history.Floor); ok {
		x.fold.observe(HandoffFloor, f.Phase, f.Took)
	}
	h, ok := r.(*history.Handoff)
	if !ok || x.fold.faults.Touches(h.Released, h.Granted) {
		return
	}
	at := h.Released
	for _, s := range HandoffStages {
		until := s.until(h)
		x.fold.observe(s.Name, h.Phase, max(until-at, 0))
		at = max(at, until)
	}
}

func (x *handoffs) handoff(h Handoff, _, next *facts.Belief) {
	churns := func(p history.Phase) bool { return p.Pace != history.ByHarness }
	switch {
	case h.Failover:
	case x.fold.phase(next.Phase).Kind == history.DrainPhase && slices.ContainsFunc(x.fold.history.Phases, churns):
		x.fold.handedOff(HandoffLatencyDrain, next.Phase, h)
	default:
		x.fold.handedOff(HandoffLatency, next.Phase, h)
	}
}

func (f *Fold) handedOff(metric, phase string, h Handoff) {
	f.observe(metric, phase, h.Latency)
	f.OnHandoff(h)
}

// Handoff is the passing of a grant from one holder to the next.
type Handoff struct {
	At         time.Duration
	Latency    time.Duration // time since the release, or since the fault that hit the holder; 0 if the fault is unknown
	Failover   bool          // the holder did not release, or a fault affected it
	Leaderless time.Duration // the part of Latency during which no client believed that it held
}

type holders struct {
	last      facts.Belief
	hasLast   bool         // last is set
	suspended []suspension // times during which the last holder was suspended

	recent []facts.Belief // latest beliefs of a lock that several clients may hold, or of a barrier
}

// suspension is a time during which a holder did not know whether it held, before it continued to hold.
type suspension struct{ from, to time.Duration }

// Belief adds the next belief. The caller must add the beliefs of each path in the order of their start.
func (f *Fold) Belief(b facts.Belief) {
	on := facts.ValueAt(f.holders, f.pathOf(b.Client))
	for _, c := range f.collectors {
		c.belief(&b)
	}
	switch {
	case f.history.Header.Recipe == facts.Barrier:
		f.addBarrierBelief(on, b)
		return
	case facts.Permits(f.history.Header) > 1:
		f.addSharedBelief(on, b)
		return
	}
	last, some := on.last, on.hasLast
	if some && b.Client == last.Client && b.Token == last.Token {
		on.suspended = append(on.suspended, suspension{last.End, b.Start})
		on.last.End, on.last.Early, on.last.EndReason = b.End, b.Early, b.EndReason // the same grant continues
		return
	}
	suspensions := on.suspended
	*on = holders{last: b, hasLast: true}
	if !some || b.Phase != last.Phase || b.Round != last.Round {
		return
	}
	f.addHandoff(&last, &b, suspensions)
}

func (f *Fold) addHandoff(last, b *facts.Belief, suspensions []suspension) {
	h, passed := f.handoffBetween(last, b)
	granted, free := b.Start-b.Late, last.End+last.Early
	h.Leaderless = max(0, granted-free)
	for _, a := range suspensions {
		h.Leaderless += max(0, a.to-max(a.from, granted-h.Latency))
	}
	for _, c := range f.collectors {
		c.holderChanged(last, b)
		if passed {
			c.handoff(h, last, b)
		}
	}
}

// recentBeliefs is the minimum number of earlier beliefs that are searched for the previous holder of
// a lock that several clients may hold.
const recentBeliefs = 256

// addSharedBelief adds the next belief of a read-write lock or a semaphore. Its predecessor is the last belief
// that had to end before it could start: for a reader, the belief of a writer.
func (f *Fold) addSharedBelief(on *holders, b facts.Belief) {
	var last *facts.Belief
	for i := range on.recent {
		r := &on.recent[i]
		if b.Restored && r.Client == b.Client && r.Token == b.Token {
			r.End, r.Early, r.EndReason = b.End, b.Early, b.EndReason // the same grant continues
			return
		}
		blocks := f.history.Header.Recipe == facts.Semaphore || r.Permits+b.Permits > facts.Permits(f.history.Header)
		if blocks && r.End <= b.Start && (last == nil || r.End > last.End) {
			last = r
		}
	}
	if last != nil && b.Phase == last.Phase && b.Round == last.Round {
		f.addHandoff(new(*last), &b, nil)
	}
	on.recent = append(on.recent, b)
	if len(on.recent) > 2*recentBeliefs {
		on.recent = append(on.recent[:0], on.recent[recentBeliefs:]...)
	}
}

// addBarrierBelief adds the next belief of a barrier. When all parties of a generation have passed, it counts
// the time of each passage from the last call to enter.
func (f *Fold) addBarrierBelief(on *holders, b facts.Belief) {
	g := on.recent
	if b.Restored || len(g) > 0 && (b.Phase != g[0].Phase || b.Call >= g[0].End) { // b is of the next generation: the current one is incomplete
		g = g[:0]
	}
	if b.Restored {
		return
	}
	if g = append(g, b); len(g) == f.history.Header.Clients {
		last := slices.MaxFunc(g, func(a, b facts.Belief) int { return cmp.Compare(a.Call, b.Call) }).Call
		for _, m := range g {
			if f.faults.Touches(last, m.Start) {
				continue
			}
			for _, c := range f.collectors {
				c.handoff(Handoff{At: m.Start, Latency: max(0, m.Start-m.Late-last)}, nil, &m)
			}
		}
		g = g[:0]
	}
	on.recent = g
}

// handoffBetween returns the hand-off from last to b. It returns false for an overlap without a fault, and for
// a graceful end if b's client did not wait yet or a fault was active.
func (f *Fold) handoffBetween(last, b *facts.Belief) (Handoff, bool) {
	granted, free := b.Start-b.Late, last.End+last.Early // as their own clocks show
	h := Handoff{At: b.Start, Latency: max(0, granted-free)}
	graceful := last.EndReason == facts.Released || last.EndReason == string(history.Closed)
	if w, ok := cause(last, b, f.history.Faults, graceful); ok {
		h.Latency, h.Failover = max(0, granted-w.Start), true
		return h, true
	}
	switch {
	case last.End > b.Start:
		return Handoff{}, false // the verdict reports an overlap without a fault
	case last.EndReason == string(history.Killed):
		h.Failover = true
		return h, true
	case !graceful:
		h.Failover, h.Latency = true, 0
		return h, true
	}
	// A client waited for it, and no fault was active.
	return h, b.Call <= last.End && !f.faults.Touches(last.End, b.Start)
}

// endUncertainty is the time by which a fault may follow the end of a belief that it explains.
const endUncertainty = 20 * time.Millisecond

// cause returns the latest fault that explains the end of last: a fault that hit the holder itself
// while it held or was about to be granted, or, if the end was not graceful, a fault that affected a member
// while the client held.
func cause(last, b *facts.Belief, faults []history.Fault, graceful bool) (history.Fault, bool) {
	until := last.End
	if !graceful {
		until += endUncertainty
	}
	until = min(until, b.Start)
	i := sort.Search(len(faults), func(i int) bool { return faults[i].Start > until })
	for _, w := range slices.Backward(faults[:i]) {
		if w.Start < last.Call {
			break
		}
		early := w.Start < last.Start
		hit := w.Client == last.Client && (!early || facts.FaultEnd(w) >= last.Start) || w.Client < 0 && !graceful && !early
		if hit && (!graceful || last.End > b.Start) {
			return w, true
		}
	}
	return history.Fault{}, false
}
