package metrics

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

type failovers struct {
	noopCollector
	fold    *Fold
	rounds  int
	outside []string // descriptions of the rounds outside the prediction
	delayed []string // descriptions of the rounds that only the machine's load may have put outside
	never   []string
	longest *Failover     // among the rounds with a prediction
	most    time.Duration // the largest prediction
}

func (x *failovers) handoff(h Handoff, last, next *facts.Belief) {
	phase := next.Phase
	if h.Failover || x.fold.phase(phase).Kind == history.SuccessionPhase {
		x.fold.observe(LeaderlessTime, phase, h.Leaderless)
	}
	if h.Failover && h.Latency > 0 {
		x.fold.handedOff(FailoverLatency, phase, h)
	}
	if h.Failover {
		x.fold.observe(BeliefOverlap, phase, max(0, min(last.End, next.End)-next.Start))
	}
}

func (x *failovers) record(r history.Record) {
	n, ok := r.(*history.Failover)
	if !ok {
		return
	}
	round := failoverOf(n)
	x.rounds++
	x.most = max(x.most, n.Most)
	switch {
	case round.Outside():
		x.outside = append(x.outside, round.String())
	case round.Latency > round.Most:
		x.delayed = append(x.delayed, fmt.Sprintf("%s, while tasks of this machine waited %s for processors, memory or I/O",
			round.String(), units.Duration(float64(round.Stalled))))
	}
	x.fold.Failovers = append(x.fold.Failovers, round)
	if round.Never {
		x.never = append(x.never, round.Phase)
		return
	}
	x.fold.observe(FailoverLatency+"."+round.Phase, round.Phase, round.Latency)
	for name, d := range round.Stages {
		x.fold.observe(name, round.Phase, d)
	}
	if round.Kept && n.Suspended > 0 {
		x.fold.observe(LeaderlessTime, round.Phase, n.Restored-n.Suspended)
	}
	if !round.Kept && n.Most > 0 && (x.longest == nil || round.Latency > x.longest.Latency) {
		x.longest = &round
	}
}

// describedRounds is the maximum number of rounds outside the prediction that the note describes.
const describedRounds = 3

func (x *failovers) close(out map[string]Metric) {
	if x.rounds == 0 {
		return
	}
	m := countedMetric(FailoverOutside, float64(len(x.outside)), int64(x.rounds))
	m.Expected = new(0.0)
	rounds := x.outside
	if len(rounds) == 0 && len(x.delayed) > 0 { // a slow recipe, or a busy machine
		m.Value, rounds = nil, x.delayed
	}
	m.Note = strings.Join(rounds[:min(len(rounds), describedRounds)], "; ")
	if more := len(rounds) - describedRounds; more > 0 {
		m.Note += fmt.Sprintf("; and %d more", more)
	}
	out[FailoverOutside] = m
	if x.most > 0 {
		out[FailoverPredicted] = value(FailoverPredicted, float64(x.most))
	}
	total := x.fold.distributions[FailoverLatency]
	if total != nil && x.longest != nil {
		total.note = "the longest was " + x.longest.String()
	}
	for _, phase := range x.never {
		for _, d := range []*phaseHistogram{total, x.fold.distributions[FailoverLatency+"."+phase]} {
			if d != nil {
				d.never++
			}
		}
	}
}

// Failover is a round of a failover.
type Failover struct {
	Phase string
	Round int
	At    time.Duration // of the injection
	// Latency is the time from the injection to the next grant or, if the holder kept its grant
	// (Kept), to the notification of that. Never means that neither happened.
	Latency           time.Duration
	Kept              bool
	Never             bool
	Least, Most, Mean time.Duration
	Stalled           time.Duration // for which tasks of the machine waited meanwhile
	// Stages contains the parts of Latency, by metric; nil if the session did not have to expire.
	Stages map[string]time.Duration
}

// Outside reports whether the failover took less time than predicted, or more than predicted and than
// the load of the machine explains.
func (f Failover) Outside() bool {
	return f.Never || f.Latency < f.Least || f.Latency > f.Most+f.Stalled
}

// String describes the round in one line.
func (f Failover) String() string {
	if f.Never {
		return fmt.Sprintf("%s, round %d: no client was granted", f.Phase, f.Round)
	}
	s := fmt.Sprintf("%s, round %d: %s, predicted %s to %s", f.Phase, f.Round,
		units.Duration(float64(f.Latency)), units.Duration(float64(f.Least)), units.Duration(float64(f.Most)))
	var parts []string
	for _, name := range Stages {
		if d, ok := f.Stages[name]; ok {
			parts = append(parts, strings.TrimPrefix(name, "failover.")+" "+units.Duration(float64(d)))
		}
	}
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	return s
}

func failoverOf(r *history.Failover) Failover {
	f := Failover{
		Phase: r.Phase, Round: r.Round, At: r.Injected, Least: r.Least, Most: r.Most, Mean: r.Mean, Stalled: r.Stalled,
	}
	switch {
	case r.Granted > 0:
		f.Latency = r.Granted - f.At
	case r.Restored > 0:
		f.Latency, f.Kept, f.Least = r.Restored-f.At, true, 0
	default:
		f.Never = true
	}
	if r.Expires && !f.Kept && !f.Never {
		f.Stages = stages(r)
	}
	return f
}

func stages(r *history.Failover) map[string]time.Duration {
	out := map[string]time.Duration{}
	last := r.Injected
	until := func(name string, at time.Duration) {
		if at > 0 {
			out[name] = max(0, at-last)
			last = max(last, at)
		}
	}
	if r.LastRequest > 0 && r.Expired > 0 {
		until(FailoverDetect, min(r.LastRequest+r.Timeout, r.Expired)) // the rest is rounding and lag
		until(FailoverExpire, r.Expired)
		until(FailoverCommit, r.Committed)
	} else {
		until(FailoverExpire, r.Committed)
	}
	until(FailoverNotify, r.Notified)
	until(FailoverRelist, r.Granted)
	return out
}
