package report

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// believe closes the hand-off from the last holder to b. Beliefs come in the
// order of their start.
func (f *folding) believe(b verdict.Belief) {
	last, held := f.last, f.held
	if held && b.Client == last.Client && b.Token == last.Token {
		f.last.End, f.last.Ended = b.End, b.Ended // the same grant goes on
		return
	}
	f.last, f.held = b, true
	if !held || b.Phase != last.Phase || b.Round != last.Round {
		return
	}
	if b.Start > last.End && f.disturbed(last.End, b.Start) {
		f.observe(OutageTime, b.Phase, b.Start-last.End)
	}
	if h, ok := f.handoff(last, b); ok {
		f.passed(h, last, b)
	}
}

// Handoff is the passing of a grant from one holder to the next.
type Handoff struct {
	At       time.Duration // when the next grant returned
	Latency  time.Duration // since the holder let go, or since the fault that struck it
	Failover bool          // a fault was the cause
}

// handoff says whether b took over from last, and since when the grant was free.
// A graceful hand-off that a fault was near is neither that nor a failover.
func (f *folding) handoff(last, b verdict.Belief) (Handoff, bool) {
	graceful := last.Ended == verdict.Released || last.Ended == string(history.Closed)
	if w, ok := struck(last, b, f.faults, graceful); ok {
		return Handoff{At: b.Start, Latency: b.Start - w.Start, Failover: true}, true
	}
	switch {
	case last.End > b.Start:
		return Handoff{}, false // an overlap without a fault: the verdict's business
	case !graceful:
		return Handoff{At: b.Start, Latency: b.Start - last.End, Failover: true}, true
	case b.Call > last.End, f.disturbed(last.End, b.Start):
		return Handoff{}, false // nobody waited for it, or a fault was in the way
	}
	return Handoff{At: b.Start, Latency: b.Start - last.End}, true
}

// struck returns the latest fault that began while last held and that explains
// why it holds no longer: one that hit the holder itself, or, where it was told
// of a loss, one that hit a member.
func struck(last, b verdict.Belief, faults []history.Fault, graceful bool) (history.Fault, bool) {
	until := min(last.End, b.Start)
	i := sort.Search(len(faults), func(i int) bool { return faults[i].Start > until })
	for _, w := range slices.Backward(faults[:i]) {
		if w.Start < last.Start {
			break
		}
		hit := w.Client == last.Client || w.Client < 0 && !graceful
		if hit && (!graceful || last.End > b.Start) {
			return w, true
		}
	}
	return history.Fault{}, false
}

// healing returns, for each fault in order of their start, when the last of it and
// those before it was healed.
func healing(faults []history.Fault) []time.Duration {
	var out []time.Duration
	last := time.Duration(0)
	for _, w := range faults {
		end := w.End
		if end < w.Start {
			end = math.MaxInt64 // never
		}
		last = max(last, end)
		out = append(out, last)
	}
	return out
}

// disturbed says whether any fault was in force in [from, to].
func (f *folding) disturbed(from, to time.Duration) bool {
	i := sort.Search(len(f.faults), func(i int) bool { return f.faults[i].Start > to })
	return i > 0 && f.healed[i-1] >= from
}

func (f *folding) passed(h Handoff, last, b verdict.Belief) {
	metric := HandoffLatency
	switch {
	case h.Failover:
		metric = FailoverLatency
	case f.churns && f.phases[b.Phase].Kind == history.DrainPhase:
		metric = HandoffLatencyDrain
	}
	f.observe(metric, b.Phase, h.Latency)
	if f.onHandoff != nil {
		f.onHandoff(metric, h)
	}
	if h.Failover || f.phases[b.Phase].Kind == history.SuccessionPhase {
		f.observe(LeaderlessTime, b.Phase, max(0, b.Start-last.End))
	}
	if h.Failover {
		f.observe(BeliefOverlap, b.Phase, max(0, min(last.End, b.End)-b.Start))
	}
}
