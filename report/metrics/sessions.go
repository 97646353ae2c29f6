package metrics

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Names of the metrics of many sessions.
const (
	ConnectLatency    = "connect.latency"
	ConnectAll        = "connect.all"
	ReconnectLatency  = "reconnect.latency"
	ReconnectAll      = "reconnect.all"
	SessionsExpired   = "sessions.expired"
	SessionHeap       = "session.heap"
	SessionStacks     = "session.stacks"
	SessionGoroutines = "session.goroutines"
)

func init() {
	register(Family{
		Order: 66, About: "Many sessions (connect):",
		Definitions: []Definition{
			{Name: ConnectLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "opening a session", Head: "connect", Shown: []string{"p50", "p99"}, Main: "p50",
				Help: "Time from opening a session until it is connected"},
			{Name: ConnectAll, Unit: "ns", Better: Lower, Shown: []string{"value"}, Main: "value",
				Help: "Time from opening the first session until all are connected; count is the number of sessions"},
			{Name: ReconnectLatency, Unit: "ns", Better: Lower, Distribution: true, Noun: "reconnecting to a member", Head: "reconnect", Shown: []string{"p50", "p99"}, Main: "p50",
				Help: "Time from the loss of a session's connection until the session is connected again"},
			{Name: ReconnectAll, Unit: "ns", Better: Lower, Shown: []string{"value"}, Main: "value",
				Help: "Longest time during which not all sessions were connected: from the first loss until every session that returned was connected; count is the number that returned"},
			{Name: SessionsExpired, Unit: "1", Better: Lower, Shown: []string{"value"}, Main: "value",
				Help: "Sessions that expired, or whose deadline passed without a server response, although no fault affected their clients; count is all sessions opened"},
			{Name: SessionHeap, Unit: "B/session", Better: Lower, Shown: []string{"value"}, Main: "value",
				Help: "Live heap of this process per session, including the tap on its connection: with all sessions open, minus the heap before the first; count is the number of sessions"},
			{Name: SessionStacks, Unit: "B/session", Better: Lower, Shown: []string{"value"}, Main: "value",
				Help: "Like session.heap, but for goroutine stacks, which are not part of the heap"},
			{Name: SessionGoroutines, Unit: "1/session", Better: Lower, Shown: []string{"value"}, Main: "value",
				Help: "Number of goroutines per session"},
		},
		collect: func(f *Fold) collector {
			x := &sessions{fold: f, opened: map[int64]time.Duration{}, gone: map[int64]bool{}}
			return collector{record: x.record, close: x.close}
		},
	})
}

type sessions struct {
	fold        *Fold
	first, last time.Duration // time of the first call, and time when the last session was open
	connected   int64
	back        []*history.Reconnected
	opened      map[int64]time.Duration
	gone        map[int64]bool // closed, killed or expired: no further events
	expired     int64
	deadlines   int64 // expired only because their deadlines passed
	after       int64 // expired sessions after a fault had hit a member
	footprint   *history.Footprint
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
			x.back = append(x.back, r)
			x.fold.observe(ReconnectLatency, p.Name, r.At-r.Lost)
		}
	case *history.Footprint:
		x.footprint = r
	case *history.Session:
		x.event(r)
	}
}

func (x *sessions) phaseAt(at time.Duration) *history.Phase {
	for i := range x.fold.history.Phases {
		if p := &x.fold.history.Phases[i]; p.Kind == history.ConnectPhase && p.Start <= at && (p.End == 0 || at < p.End) {
			return p
		}
	}
	return nil
}

func (x *sessions) event(e *history.Session) {
	switch e.Event {
	case history.Opened:
		x.opened[e.Session] = e.At
	case history.Closed, history.Killed:
		x.gone[e.Session] = true
	case history.Expired, history.Deadline:
		opened, ours := x.opened[e.Session]
		if !ours || x.gone[e.Session] {
			return
		}
		x.gone[e.Session] = true
		if x.hit(e.Client, opened, e.At) {
			return
		}
		x.expired++
		if e.Event == history.Deadline {
			x.deadlines++
		}
		if x.memberHit(e.At) {
			x.after++
		}
	}
}

func (x *sessions) hit(client int, from, to time.Duration) bool {
	return slices.ContainsFunc(x.fold.history.Faults, func(f history.Fault) bool {
		return f.Start <= to && (f.End < f.Start || f.End >= from) && (f.Client == client || slices.Contains(f.Served, client))
	})
}

// memberHit reports whether a fault had hit a member by the given time. Such a fault does not end a
// session, but may prevent clients from reconnecting.
func (x *sessions) memberHit(by time.Duration) bool {
	return slices.ContainsFunc(x.fold.history.Faults, func(f history.Fault) bool { return f.Client < 0 && f.Start <= by })
}

func (x *sessions) close(out map[string]Metric) {
	if x.connected == 0 {
		return
	}
	out[ConnectAll] = of(ConnectAll, float64(x.last-x.first), x.connected)
	expired := of(SessionsExpired, float64(x.expired), int64(len(x.opened)))
	if x.expired > 0 {
		expired.Note = fmt.Sprintf("%s reported by the servers, %s by passed deadlines; %s after a fault hit a member",
			units.Number(float64(x.expired-x.deadlines)), units.Number(float64(x.deadlines)), units.Number(float64(x.after)))
	}
	out[SessionsExpired] = expired
	if len(x.back) > 0 {
		out[ReconnectAll] = of(ReconnectAll, float64(longestAway(x.back)), int64(len(x.back)))
	}
	if p := x.footprint; p != nil && p.Sessions > 0 {
		for name, v := range map[string]int64{SessionHeap: p.Heap, SessionStacks: p.Stacks, SessionGoroutines: p.Goroutines} {
			out[name] = of(name, float64(v)/float64(p.Sessions), p.Sessions)
		}
	}
}

func of(name string, v float64, count int64) Metric {
	m := value(name, v)
	m.Count = &count
	return m
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

const (
	selfTicks      = "self.ticks"
	selfLateTicks  = "self.ticks.late"
	selfLate       = "self.late.max"
	selfRecords    = "self.records"
	selfLost       = "self.records.lost"
	selfBacklog    = "self.backlog.max"
	selfCPU        = "self.cpu.own"
	selfMachineCPU = "self.cpu.machine"
	selfStolen     = "self.cpu.stolen"
)

func init() {
	register(Family{
		Order: 90, About: "The harness itself:",
		Definitions: []Definition{
			{Name: selfTicks, Unit: "1", Help: "Ticks of the harness's own timer"},
			{Name: selfLateTicks, Unit: "1", Better: Lower, Help: "Ticks delivered more than 10 ms late"},
			{Name: selfLate, Unit: "ns", Better: Lower, Help: "Largest delay of a tick"},
			{Name: selfRecords, Unit: "1", Help: "Records written"},
			{Name: selfLost, Unit: "1", Better: Lower, Help: "Records dropped; must be 0"},
			{Name: selfBacklog, Unit: "1", Better: Lower, Help: "Maximum number of records waiting to be written"},
			{Name: selfCPU, Unit: "1", Better: Lower, Help: "Fraction of all processors used by zkbench"},
			{Name: selfMachineCPU, Unit: "1", Better: Lower, Help: "Fraction of all processors used by all programs"},
			{Name: selfStolen, Unit: "1", Better: Lower, Help: "Fraction of all processors that other virtual machines used (steal)"},
		},
		collect: collectSelf,
	})
}

func collectSelf(*Fold) collector {
	var last *history.Self
	return collector{
		record: func(r history.Record) {
			if s, ok := r.(*history.Self); ok {
				last = s
			}
		},
		close: func(out map[string]Metric) {
			if last == nil {
				return
			}
			for name, v := range map[string]int64{
				selfTicks: last.Ticks, selfLateTicks: last.LateTicks, selfLate: int64(last.LateMax),
				selfRecords: last.Records, selfLost: last.Lost, selfBacklog: last.MaxBacklog,
			} {
				out[name] = value(name, float64(v))
			}
			for name, share := range map[string]*float64{selfCPU: last.CPU, selfMachineCPU: last.MachineCPU, selfStolen: last.Stolen} {
				if share != nil {
					out[name] = value(name, *share)
				}
			}
		},
	}
}

// Names of the metrics of recovery after faults.
const (
	outageTime      = "outage.time"
	RecoveryTime    = "recovery.time"
	ConnectionsPeak = "connections.peak"
)

func init() {
	register(Family{
		Order: 60, About: "Cost of faults for all clients:",
		Definitions: []Definition{
			{Name: outageTime, Unit: "ns", Better: Lower, Distribution: true,
				Help: "Time during a fault in which no client held the lock although a client waited"},
			{Name: RecoveryTime, Unit: "ns", Better: Lower, Distribution: true,
				Help: "Time from the start of healing until all members serve requests, one of them leads, and each has seen a write"},
			{Name: ConnectionsPeak, Unit: "1/s", Better: Lower,
				Help: "Highest rate of new connections to the members, over about one second"},
		},
		collect: func(f *Fold) collector {
			x := &recovery{fold: f, held: map[string]time.Duration{}, waits: map[string]time.Duration{}}
			return collector{record: x.record, belief: x.belief, changed: x.changed, close: x.close}
		},
	})
}

type recovery struct {
	fold    *Fold
	held    map[string]time.Duration // by phase: the time until which a client held
	waits   map[string]time.Duration // by phase: the first call of the acquires that were still waiting at its end
	peak    float64                  // connections per second
	counted bool
}

func (x *recovery) record(r history.Record) {
	switch r := r.(type) {
	case *history.Waiting:
		if since, known := x.waits[r.Phase]; r.Op == history.Acquire && (!known || r.Call < since) {
			x.waits[r.Phase] = r.Call
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

func (x *recovery) belief(b *facts.Belief) { x.held[b.Phase] = max(x.held[b.Phase], b.End) }

func (x *recovery) changed(last, next *facts.Belief) {
	x.outage(next.Phase, max(last.End, next.Call), next.Start)
}

func (x *recovery) outage(phase string, from, to time.Duration) {
	if to > from && x.fold.faults.Touches(from, to) {
		x.fold.observe(outageTime, phase, to-from)
	}
}

func (x *recovery) close(out map[string]Metric) {
	for phase, since := range x.waits {
		x.outage(phase, max(since, x.held[phase]), x.fold.endOf(x.fold.phase(phase)))
	}
	if x.counted {
		out[ConnectionsPeak] = Metric{Unit: "1/s", Value: new(x.peak)}
	}
}
