package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Pause is a round in which a holder's process was stopped for longer than its session timeout, and
// then resumed. Times count from the signal to stop.
type Pause struct {
	Round    int
	Expired  time.Duration // expiry of the session, from the members' logs; 0 if unknown
	Granted  time.Duration // return of the next client's grant
	Resumed  time.Duration // the signal to continue
	Until    time.Duration // notification that it no longer holds, or the end of the wait for the notification
	Notified bool
}

type pauses struct {
	noopCollector
	fold              *Fold
	since             map[int][]history.Sample // by client: its writes since its last pause
	rounds, unaware   int
	neverNotified     int
	effects, accepted int
	unknownOutcomes   int
	writes, fenced    int
	last              *Pause
}

func (x *pauses) sample(s *history.Sample, p *history.Phase) {
	if p.Kind != history.FailoverPhase {
		return
	}
	switch s.Op {
	case history.Effect, history.Write:
		x.since[s.Client] = append(x.since[s.Client], *s)
	}
}

func (x *pauses) record(r history.Record) {
	switch p := r.(type) {
	case *history.Paused:
		x.addPause(p)
	case *history.Failover:
		if x.last != nil && p.Round == x.last.Round && p.Expired > 0 {
			x.last.Expired = p.Expired - p.Injected
		}
		x.reportLast()
		clear(x.since) // the round is over
	}
}

func (x *pauses) reportLast() {
	if x.last != nil {
		x.fold.Pauses = append(x.fold.Pauses, *x.last)
	}
	x.last = nil
}

func (x *pauses) addPause(p *history.Paused) {
	x.reportLast()
	x.rounds++
	until := p.Notified
	if p.By == "" {
		until, x.neverNotified = p.At, x.neverNotified+1
	} else {
		x.fold.observe(PausedNotice, p.Phase, until-p.Resumed)
	}
	x.fold.observe(PausedBelief, p.Phase, until-p.Granted)
	x.last = &Pause{Round: p.Round, Granted: p.Granted - p.Stopped, Resumed: p.Resumed - p.Stopped, Until: until - p.Stopped, Notified: p.By != ""}
	first := map[string]bool{}
	acted := map[string]bool{}
	for _, s := range x.since[p.Client] {
		if s.Return < p.Resumed {
			continue
		}
		before := max(s.Call, p.Resumed) < until
		if !first[s.Op] || before {
			x.count(&s)
		}
		first[s.Op] = true
		acted[s.Op] = acted[s.Op] || before
	}
	// If the recipe makes writes of its own (effects), the harness's writes to the fenced resource do
	// not count here: their time does not depend on the recipe.
	if acted[history.Effect] || !first[history.Effect] && acted[history.Write] {
		x.unaware++
	}
	clear(x.since)
}

func (x *pauses) count(s *history.Sample) {
	if s.Op == history.Write {
		x.writes++
		if s.Outcome == history.Failed {
			x.fenced++
		}
		return
	}
	x.effects++
	switch s.Outcome {
	case history.OK:
		x.accepted++
	case history.Unknown:
		x.unknownOutcomes++
	}
}

func (x *pauses) close(out map[string]Metric) {
	x.reportLast()
	if x.rounds == 0 {
		return
	}
	out[PausedUnaware] = countedMetric(PausedUnaware, float64(x.unaware), int64(x.rounds))
	out[PausedFenced] = countedMetric(PausedFenced, float64(x.fenced), int64(x.writes))
	if x.effects > 0 {
		m := countedMetric(PausedAccepted, float64(x.accepted), int64(x.effects))
		if x.unknownOutcomes > 0 {
			m.Note = units.Plural(x.unknownOutcomes, "write") + " with an unknown outcome may have succeeded too"
		}
		out[PausedAccepted] = m
	}
	if d := x.fold.distributions[PausedBelief]; x.neverNotified > 0 {
		d.note = "in " + units.Plural(x.neverNotified, "round") + " the client was never notified"
	}
}
