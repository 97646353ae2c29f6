package metrics

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// AcquireLatency names the latency of acquiring.
const AcquireLatency = "acquire.latency"

func init() {
	register(Family{
		Order: 40, About: "Acquiring:",
		Definitions: []Definition{
			{Name: AcquireLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "acquiring", Head: "acquire", Shown: []string{"p50"},
				Help: "Time from the scheduled start of an acquire until it was granted; excludes ramps, and drains unless there are no other acquires"},
		},
		collect: collectAcquires,
	})
}

const inDrain = AcquireLatency + "/drain"

func collectAcquires(f *Fold) collector {
	return collector{
		sample: func(s *history.Sample, p *history.Phase) {
			if s.Op != history.Acquire || s.Outcome != history.OK || p.Kind == history.FlapPhase {
				return
			}
			name := AcquireLatency
			if p.Kind == history.DrainPhase {
				name = inDrain
			}
			f.latency(name, s.Phase, s.Due, s.Return-s.Clock)
		},
		close: func(map[string]Metric) {
			drained := f.distributions[inDrain]
			delete(f.distributions, inDrain)
			if drained != nil && f.distributions[AcquireLatency] == nil {
				f.distributions[AcquireLatency] = drained
			}
		},
	}
}

// Names of the latencies of hand-offs.
const (
	HandoffLatency = "handoff.latency"
	// HandoffLatencyDrain is separate, because the line of a drain is on average half as long as the
	// line of a churn, where all clients are always in line.
	HandoffLatencyDrain = "handoff.latency.drain"
)

func init() {
	register(Family{
		Order: 10, About: "Hand-offs:",
		Definitions: []Definition{
			{Name: HandoffLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "one hand-off", Head: "hand-off",
				Shown: []string{"p50", "p99"}, Main: "p50", Decides: true,
				Help: "Time from the call to release until the next client's acquire returns, with no fault active. For a barrier, from the last party's call to enter until each party has passed. Measured under contention if the scenario has a contention phase"},
			{Name: HandoffLatencyDrain, Unit: "ns", Better: Lower, Distribution: true,
				Help: "Like handoff.latency, but during a drain, where the line is half as long on average"},
		},
		collect: collectHandoffs,
	})
	var stages []Definition
	for _, s := range HandoffStages {
		stages = append(stages, Definition{Name: s.Name, Unit: "ns", Better: Lower, Distribution: true, Help: s.Help})
	}
	register(Family{
		Order: 12, About: "Stages of a hand-off in a drain, from the traffic on the wire, in order; they add up to the hand-off:",
		Definitions: stages, collect: collectStages,
	})
}

// HandoffStage is a part of a hand-off. Name is its metric, Help the help text of the metric.
type HandoffStage struct {
	Name, Label, Help string
	until             func(*history.Handoff) time.Duration
}

// HandoffStages are the stages of a hand-off in order.
var HandoffStages = []HandoffStage{
	{"handoff.stage.release", "release", "From the call to release until its write leaves the client: the recipe's own time", func(h *history.Handoff) time.Duration { return h.Sent }},
	{"handoff.stage.commit", "commit", "Until the reply to that write, or the notification if that comes first: the members' time to commit and apply it", func(h *history.Handoff) time.Duration { return h.Applied }},
	{"handoff.stage.notify", "notification", "Until the notification reaches the next client", func(h *history.Handoff) time.Duration { return h.Notified }},
	{"handoff.stage.react", "reaction", "Until the next client's first request after that: the client's own time; 0 if it needs no request", func(h *history.Handoff) time.Duration { return h.Asked }},
	{"handoff.stage.check", "check", "Until the last reply to the next client's requests", func(h *history.Handoff) time.Duration { return h.Answered }},
	{"handoff.stage.grant", "grant", "Until the next client's acquire returns: the client's own time", func(h *history.Handoff) time.Duration { return h.Granted }},
}

// MedianStages returns the median of each stage of a hand-off; nil if a stage was not measured.
func MedianStages(all map[string]Metric) (parts []time.Duration) {
	for _, s := range HandoffStages {
		m := all[s.Name]
		if m.P50 == nil {
			return nil
		}
		parts = append(parts, time.Duration(*m.P50))
	}
	return parts
}

func collectStages(f *Fold) collector {
	return collector{record: func(r history.Record) {
		h, ok := r.(*history.Handoff)
		if !ok || f.faults.Touches(h.Released, h.Granted) {
			return
		}
		at := h.Released
		for _, s := range HandoffStages {
			until := s.until(h)
			f.observe(s.Name, h.Phase, max(until-at, 0))
			at = max(at, until)
		}
	}}
}

func collectHandoffs(f *Fold) collector {
	churns := slices.ContainsFunc(f.history.Phases, func(p history.Phase) bool { return p.Pace != history.ByHarness })
	return collector{handoff: func(h Handoff, _, next *facts.Belief) {
		switch {
		case h.Failover:
		case churns && f.phase(next.Phase).Kind == history.DrainPhase:
			f.handedOff(HandoffLatencyDrain, next.Phase, h)
		default:
			f.handedOff(HandoffLatency, next.Phase, h)
		}
	}}
}

func (f *Fold) handedOff(metric, phase string, h Handoff) {
	f.observe(metric, phase, h.Latency)
	f.OnHandoff(metric, h)
}

// Handoff is the passing of a grant from one holder to the next.
type Handoff struct {
	At       time.Duration
	Latency  time.Duration // time since the release, or since the fault that hit the holder; 0 if the fault is unknown
	Failover bool          // the holder did not release, or a fault had hit it
	Nobody   time.Duration // the part of Latency during which no client believed that it held
}

type holders struct {
	last facts.Belief
	some bool   // last is set
	away []away // times during which the last holder was in doubt

	recent []facts.Belief // latest beliefs of a lock that several clients may hold, or of a barrier
}

// away is a time during which a holder was in doubt before it continued to hold.
type away struct{ from, to time.Duration }

// Belief adds the next belief. The caller must add beliefs in the order of their start.
func (f *Fold) Belief(b facts.Belief) {
	for i := range f.collectors {
		if take := f.collectors[i].belief; take != nil {
			take(&b)
		}
	}
	switch {
	case f.history.Header.Recipe == facts.Barrier:
		f.passing(b)
		return
	case facts.Permits(f.history.Header) > 1:
		f.shared(b)
		return
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
	f.follows(&last, &b, doubts)
}

func (f *Fold) follows(last, b *facts.Belief, doubts []away) {
	h, passed := f.passed(last, b)
	granted, free := b.Start-b.Late, last.End+last.Early
	h.Nobody = max(0, granted-free)
	for _, a := range doubts {
		h.Nobody += max(0, a.to-max(a.from, granted-h.Latency))
	}
	for i := range f.collectors {
		c := &f.collectors[i]
		if c.changed != nil {
			c.changed(last, b)
		}
		if c.handoff != nil && passed {
			c.handoff(h, last, b)
		}
	}
}

// recentBeliefs is the minimum number of earlier beliefs that are searched for the previous holder of
// a lock that several clients may hold.
const recentBeliefs = 256

// shared adds the next belief of a read-write lock or a semaphore. Its predecessor is the last belief
// that had to end before it could start: for a reader, the belief of a writer.
func (f *Fold) shared(b facts.Belief) {
	var last *facts.Belief
	for i := range f.holders.recent {
		r := &f.holders.recent[i]
		if b.Restored && r.Client == b.Client && r.Token == b.Token {
			r.End, r.Early, r.Ended = b.End, b.Early, b.Ended // the same grant continues
			return
		}
		blocks := f.history.Header.Recipe == facts.Semaphore || r.Permits+b.Permits > facts.Permits(f.history.Header)
		if blocks && r.End <= b.Start && (last == nil || r.End > last.End) {
			last = r
		}
	}
	if last != nil && b.Phase == last.Phase && b.Round == last.Round {
		f.follows(new(*last), &b, nil)
	}
	f.holders.recent = append(f.holders.recent, b)
	if len(f.holders.recent) > 2*recentBeliefs {
		f.holders.recent = append(f.holders.recent[:0], f.holders.recent[recentBeliefs:]...)
	}
}

// passing adds the next belief of a barrier. When all parties of a generation have passed, it counts
// the time of each passage from the last call to enter.
func (f *Fold) passing(b facts.Belief) {
	g := f.holders.recent
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
			for i := range f.collectors {
				if take := f.collectors[i].handoff; take != nil {
					take(Handoff{At: m.Start, Latency: max(0, m.Start-m.Late-last)}, nil, &m)
				}
			}
		}
		g = g[:0]
	}
	f.holders.recent = g
}

// passed returns the hand-off from last to b. It returns false for an overlap without a fault, and for
// a graceful end if b's client did not wait yet or a fault was active.
func (f *Fold) passed(last, b *facts.Belief) (Handoff, bool) {
	granted, free := b.Start-b.Late, last.End+last.Early // as their own clocks show
	h := Handoff{At: b.Start, Latency: max(0, granted-free)}
	graceful := last.Ended == facts.Released || last.Ended == string(history.Closed)
	if w, ok := cause(last, b, f.history.Faults, graceful); ok {
		h.Latency, h.Failover = max(0, granted-w.Start), true
		return h, true
	}
	switch {
	case last.End > b.Start:
		return Handoff{}, false // the verdict reports an overlap without a fault
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

// cause returns the latest fault that explains the end of last: a fault that hit the holder itself
// while it held or was about to be granted, or, if the end was not graceful, a fault that hit a member
// while the client held.
func cause(last, b *facts.Belief, faults []history.Fault, graceful bool) (history.Fault, bool) {
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
		hit := w.Client == last.Client && (!early || facts.Ended(w) >= last.Start) || w.Client < 0 && !graceful && !early
		if hit && (!graceful || last.End > b.Start) {
			return w, true
		}
	}
	return history.Fault{}, false
}

// PipeRoundtrip names the time of a round trip between the harness and a driver.
const PipeRoundtrip = "pipe.roundtrip"

// AgentsClock names the largest uncertainty of an agent's clock.
const AgentsClock = "agents.clock"

func init() {
	register(Family{
		Order: 75, About: "Overhead between the harness and a subject in a separate process:",
		Definitions: []Definition{{Name: PipeRoundtrip, Unit: "ns", Better: Lower, Fields: []string{"count", "p50", "p99"},
			Help: "Round trip of a request through the driver's pipe (p50, p99). Latencies of a driver that reports " +
				"the times of its recipe's calls exclude it; the times of other drivers include it"},
			{Name: AgentsClock, Unit: "ns", Better: Lower,
				Help: "Largest uncertainty of an agent's clock. A latency that begins and ends on one agent is exact; " +
					"a time that begins on one client and ends on another (hand-off, failover) may be off by twice this value. Belief intervals are narrowed by it"}},
		collect: func(*Fold) collector {
			var pipe *history.Pipe
			return collector{
				record: func(r history.Record) {
					if p, ok := r.(*history.Pipe); ok {
						pipe = p
					}
				},
				close: func(out map[string]Metric) {
					if pipe != nil {
						out[PipeRoundtrip] = Metric{Unit: "ns", P50: new(float64(pipe.P50)), P99: new(float64(pipe.P99)), Count: new(int64(pipe.Count))}
						if pipe.Clock > 0 {
							out[AgentsClock] = Metric{Unit: "ns", Value: new(float64(pipe.Clock))}
						}
					}
				},
			}
		},
	})
}

// WarningLatency names the latency of early warnings.
const WarningLatency = "warning.latency"

func init() {
	register(Family{
		Order: 25, About: "Observations of an election, in a succession with early warnings:",
		Definitions: []Definition{{Name: WarningLatency, Unit: "ns", Better: Lower, Distribution: true, PerPhase: true,
			Help: "Time from the removal of a candidate that leaves too few candidates until the observer's early warning"}},
		collect: func(f *Fold) collector {
			var stand int
			left := map[int]time.Duration{} // time when a candidate was made to leave, by the number of candidates that remained
			return collector{record: func(r history.Record) {
				switch r := r.(type) {
				case *history.Joined:
					stand++
				case *history.Leaving:
					if r.Client < 0 {
						stand = 0
						clear(left)
						return
					}
					stand--
					left[stand] = r.At
				case *history.Warning:
					if at, ok := left[r.Below-1]; ok {
						f.observe(WarningLatency, r.Phase, r.At-at)
					}
				}
			}}
		},
	})
}
