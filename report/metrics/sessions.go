package metrics

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

type sessions struct {
	noopCollector
	fold             *Fold
	first, last      time.Duration // call that opened the first session, and completion of the last
	connected        int64
	reconnects       []*history.Reconnected
	opened           map[int64]time.Duration
	ended            map[int64]bool // closed, killed or expired: no further events
	expired          int64
	passedDeadlines  int64 // expired only because their deadlines passed
	afterMemberFault int64 // expired sessions after a fault had affected a member
	footprint        *history.Footprint
}

func (x *sessions) record(r history.Record) {
	switch r := r.(type) {
	case *history.Connected:
		if x.connected == 0 || r.Call < x.first {
			x.first = r.Call
		}
		x.connected, x.last = x.connected+1, max(x.last, r.At)
		x.fold.observe(ConnectLatency, r.Phase, r.At-r.Call)
	case *history.Reconnected:
		if p := x.phaseAt(r.Lost); p != nil {
			x.reconnects = append(x.reconnects, r)
			x.fold.observe(ReconnectLatency, p.Name, r.At-r.Lost)
		}
	case *history.Footprint:
		x.footprint = r
	case *history.Session:
		x.event(r)
	}
}

func (x *sessions) phaseAt(at time.Duration) *history.Phase {
	i := slices.IndexFunc(x.fold.history.Phases, func(p history.Phase) bool {
		return p.Kind == history.ConnectPhase && p.Start <= at && (p.End == 0 || at < p.End)
	})
	if i < 0 {
		return nil
	}
	return &x.fold.history.Phases[i]
}

func (x *sessions) event(e *history.Session) {
	switch e.Event {
	case history.Opened:
		x.opened[e.Session] = e.At
	case history.Closed, history.Killed:
		x.ended[e.Session] = true
	case history.Expired, history.Deadline:
		opened, known := x.opened[e.Session]
		if !known || x.ended[e.Session] {
			return
		}
		x.ended[e.Session] = true
		if x.faulted(e.Client, opened, e.At) {
			return
		}
		x.expired++
		if e.Event == history.Deadline {
			x.passedDeadlines++
		}
		if x.memberFaulted(e.At) {
			x.afterMemberFault++
		}
	}
}

func (x *sessions) faulted(client int, from, to time.Duration) bool {
	return slices.ContainsFunc(x.fold.history.Faults, func(f history.Fault) bool {
		return f.Start <= to && (f.End < f.Start || f.End >= from) && (f.Client == client || slices.Contains(f.Served, client))
	})
}

// memberFaulted reports whether a fault had affected a member by the given time. Such a fault does not end a
// session, but may prevent clients from reconnecting.
func (x *sessions) memberFaulted(by time.Duration) bool {
	return slices.ContainsFunc(x.fold.history.Faults, func(f history.Fault) bool { return f.Client < 0 && f.Start <= by })
}

func (x *sessions) close(out map[string]Metric) {
	if x.connected == 0 {
		return
	}
	out[ConnectAll] = countedMetric(ConnectAll, float64(x.last-x.first), x.connected)
	expired := countedMetric(SessionsExpired, float64(x.expired), int64(len(x.opened)))
	if x.expired > 0 {
		expired.Note = fmt.Sprintf("%s reported by the servers, %s by passed deadlines; %s after a fault affected a member",
			units.Number(float64(x.expired-x.passedDeadlines)), units.Number(float64(x.passedDeadlines)), units.Number(float64(x.afterMemberFault)))
	}
	out[SessionsExpired] = expired
	if len(x.reconnects) > 0 {
		out[ReconnectAll] = countedMetric(ReconnectAll, float64(longestAway(x.reconnects)), int64(len(x.reconnects)))
	}
	if p := x.footprint; p != nil && p.Sessions > 0 {
		for name, v := range map[string]int64{SessionHeap: p.Heap, SessionStacks: p.Stacks, SessionGoroutines: p.Goroutines} {
			out[name] = countedMetric(name, float64(v)/float64(p.Sessions), p.Sessions)
		}
	}
}

// longestAway returns the longest time during which at least one session was disconnected. It sorts back.
func longestAway(back []*history.Reconnected) (longest time.Duration) {
	slices.SortFunc(back, func(a, b *history.Reconnected) int { return int(a.Lost - b.Lost) })
	var from, to time.Duration
	for _, r := range back {
		if r.Lost > to {
			from = r.Lost
		}
		to = max(to, r.At)
		longest = max(longest, to-from)
	}
	return longest
}

type pipe struct {
	noopCollector
	last *history.Pipe
}

func (x *pipe) record(r history.Record) {
	if p, ok := r.(*history.Pipe); ok {
		x.last = p
	}
}

func (x *pipe) close(out map[string]Metric) {
	if p := x.last; p != nil {
		out[PipeRoundtrip] = Metric{Unit: "ns", P50: new(float64(p.P50)), P99: new(float64(p.P99)), Count: new(int64(p.Count))}
		if p.Clock > 0 {
			out[AgentsClock] = value(AgentsClock, float64(p.Clock))
		}
	}
}

type recovery struct {
	noopCollector
	fold    *Fold
	held    map[phasePath]time.Duration // the time until which a client held
	waits   map[phasePath]time.Duration // the first call of the acquires that were still waiting at the phase's end
	peak    float64                     // connections per second
	counted bool
}

func (x *recovery) record(r history.Record) {
	switch r := r.(type) {
	case *history.Waiting:
		at := phasePath{r.Phase, x.fold.pathOf(r.Client)}
		if since, known := x.waits[at]; r.Op == history.Acquire && (!known || r.Call < since) {
			x.waits[at] = r.Call
		}
	case *history.Recovered:
		x.fold.observe(RecoveryTime, r.Phase, r.At-r.Healing)
	case *history.Connections:
		if r.Over > 0 {
			x.counted = true
			x.peak = max(x.peak, float64(r.Made)/r.Over.Seconds())
		}
	}
}

func (x *recovery) belief(b *facts.Belief) {
	at := phasePath{b.Phase, x.fold.pathOf(b.Client)}
	x.held[at] = max(x.held[at], b.End)
}

func (x *recovery) holderChanged(last, next *facts.Belief) {
	x.outage(next.Phase, max(last.End, next.Call), next.Start)
}

func (x *recovery) outage(phase string, from, to time.Duration) {
	if to > from && x.fold.faults.Touches(from, to) {
		x.fold.observe(outageTime, phase, to-from)
	}
}

func (x *recovery) close(out map[string]Metric) {
	for at, since := range x.waits {
		x.outage(at.phase, max(since, x.held[at]), x.fold.endOf(x.fold.phase(at.phase)))
	}
	if x.counted {
		out[ConnectionsPeak] = value(ConnectionsPeak, x.peak)
	}
}
