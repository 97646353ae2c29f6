package metrics

import (
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Names of the latencies of hand-offs.
const (
	HandoffLatency = "handoff.latency"
	// handoffLatencyDrain is separate, because the line of a drain is half as long on average as in
	// a churn, where all clients are in line all the time.
	handoffLatencyDrain = "handoff.latency.drain"
)

func init() {
	register(Family{
		Order: 10, About: "Hand-offs:",
		Definitions: []Definition{
			{Name: HandoffLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "one hand-off", Head: "hand-off",
				Shown: []string{"p50", "p99"}, Main: "p50", Decides: true,
				Help: "Time from the call to release until the next client's acquire returns, with no fault active. Measured under contention if the scenario has a contention phase"},
			{Name: handoffLatencyDrain, Unit: "ns", Better: Lower, Distribution: true,
				Help: "As handoff.latency, during the drain, where the line is half as long on average"},
		},
		collect: collectHandoffs,
	})
}

func collectHandoffs(f *Fold) collector {
	churns := slices.ContainsFunc(f.history.Phases, func(p history.Phase) bool { return p.Pace != history.ByHarness })
	return collector{handoff: func(h Handoff, _, next *verdict.Belief) {
		switch {
		case h.Failover:
		case churns && f.phase(next.Phase).Kind == history.DrainPhase:
			f.handedOff(handoffLatencyDrain, next.Phase, h)
		default:
			f.handedOff(HandoffLatency, next.Phase, h)
		}
	}}
}

// handedOff counts a hand-off for the metric.
func (f *Fold) handedOff(metric, phase string, h Handoff) {
	f.observe(metric, phase, h.Latency)
	f.OnHandoff(metric, h)
}

// Handoff is the passing of a grant from one holder to the next.
type Handoff struct {
	At       time.Duration
	Latency  time.Duration // since the release, or since the fault that hit the holder; 0 if the fault is unknown
	Failover bool          // the holder did not release, or a fault had hit it
	Nobody   time.Duration // the part of Latency without a belief
}

// holders tracks the current holder.
type holders struct {
	last verdict.Belief
	some bool   // last is set
	away []away // times in which the last one was in doubt
}

// away is a time in which a holder was in doubt, and then continued to hold.
type away struct{ from, to time.Duration }

// Belief adds the next belief. They come in the order of their start.
func (f *Fold) Belief(b verdict.Belief) {
	for i := range f.collectors {
		if take := f.collectors[i].belief; take != nil {
			take(&b)
		}
	}
	last, some := f.holders.last, f.holders.some
	if some && b.Client == last.Client && b.Token == last.Token {
		f.holders.away = append(f.holders.away, away{last.End, b.Start})
		f.holders.last.End, f.holders.last.Early, f.holders.last.Ended = b.End, b.Early, b.Ended // the same grant continues
		return
	}
	doubts := f.holders.away
	f.holders = holders{last: b, some: true}
	if !some || b.Phase != last.Phase || b.Round != last.Round {
		return
	}
	h, passed := f.passed(&last, &b)
	granted, free := b.Start-b.Late, last.End+last.Early
	h.Nobody = max(0, granted-free)
	for _, a := range doubts {
		h.Nobody += max(0, a.to-max(a.from, granted-h.Latency))
	}
	for i := range f.collectors {
		c := &f.collectors[i]
		if c.changed != nil {
			c.changed(&last, &b)
		}
		if c.handoff != nil && passed {
			c.handoff(h, &last, &b)
		}
	}
}

// passed reports whether b took over from last, and since when the grant was free. A graceful
// hand-off near a fault is neither that nor a failover.
func (f *Fold) passed(last, b *verdict.Belief) (Handoff, bool) {
	granted, free := b.Start-b.Late, last.End+last.Early // as their clocks read
	h := Handoff{At: b.Start, Latency: max(0, granted-free)}
	graceful := last.Ended == verdict.Released || last.Ended == string(history.Closed)
	if w, ok := cause(last, b, f.history.Faults, graceful); ok {
		h.Latency, h.Failover = max(0, granted-w.Start), true
		return h, true
	}
	switch {
	case last.End > b.Start:
		return Handoff{}, false // an overlap without a fault is for the verdict
	case last.Ended == string(history.Killed):
		h.Failover = true
		return h, true
	case !graceful:
		h.Failover, h.Latency = true, 0
		return h, true
	}
	// A client waited for it, and no fault was active.
	return h, b.Call <= last.End && !f.faults.Touches(last.End, b.Start)
}

const ofEnds = 20 * time.Millisecond

// cause returns the latest fault that explains why last no longer holds: one that hit the holder
// itself while it held or was about to be granted; or, if it was notified of a loss, one that hit a
// member while it held.
func cause(last, b *verdict.Belief, faults []history.Fault, graceful bool) (history.Fault, bool) {
	until := last.End
	if !graceful {
		until += ofEnds
	}
	until = min(until, b.Start)
	i := sort.Search(len(faults), func(i int) bool { return faults[i].Start > until })
	for _, w := range slices.Backward(faults[:i]) {
		if w.Start < last.Call {
			break
		}
		early := w.Start < last.Start
		hit := w.Client == last.Client && (!early || verdict.Ended(w) >= last.Start) || w.Client < 0 && !graceful && !early
		if hit && (!graceful || last.End > b.Start) {
			return w, true
		}
	}
	return history.Fault{}, false
}
