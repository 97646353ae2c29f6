package metrics

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Names of the metrics of failovers. The five stages add up to the latency of a failover in which the
// session had to expire first. Without the members' logs, FailoverDetect and FailoverCommit are absent,
// and FailoverExpire is the whole time until the commit.
const (
	FailoverLatency   = "failover.latency"
	LeaderlessTime    = "leaderless.time"
	BeliefOverlap     = "belief.overlap"
	FailoverPredicted = "failover.predicted.max"
	FailoverOutside   = "failover.out_of_bounds"
	FailoverDetect    = "failover.detect"
	FailoverExpire    = "failover.expire"
	FailoverCommit    = "failover.commit"
	FailoverNotify    = "failover.notify"
	FailoverRelist    = "failover.relist"
)

// Stages are the stages of a failover in order.
var Stages = []string{FailoverDetect, FailoverExpire, FailoverCommit, FailoverNotify, FailoverRelist}

func init() {
	stage := func(name, help string) Definition {
		return Definition{Name: name, Unit: "ns", Better: Lower, Distribution: true, Help: help}
	}
	register(Family{
		Order: 20, About: "Cost of the holder's failure, in a churn or failover scenario:",
		Definitions: []Definition{
			{Name: FailoverLatency, Unit: "ns", Better: Lower, Distribution: true, PerPhase: true, Noun: "a failover", Head: "failover",
				Shown: []string{"p50"}, Main: "p50", Help: "Time from the fault that affected the holder to the next grant"},
			{Name: LeaderlessTime, Unit: "ns", Better: Lower, Distribution: true, Noun: "a leaderless time", Head: "leaderless", Shown: []string{"p50"},
				Help: "Part of a failover, or of a change of leader in a succession, during which no client believed that it held the lock"},
			{Name: BeliefOverlap, Unit: "ns", Better: Lower, Distribution: true,
				Help: "Time during which the previous holder still believed that it held the lock although the next client held it: exposure, not a violation; usually 0"},
			{Name: FailoverPredicted, Unit: "ns", Better: Lower, Help: "Longest failover predicted by ZooKeeper's timing rules for the causes and timeouts of the trial"},
			{Name: FailoverOutside, Unit: "1", Better: Lower, Help: "Rounds whose failover took less or more time than predicted"},
			stage(FailoverDetect, "First stage of a failover in which the session had to expire: the rest of the session timeout at the fault"),
			stage(FailoverExpire, "Then until the leader expired the session: rounding to a tick, and the lag of a follower"),
			stage(FailoverCommit, "Then until the first member had removed the node"),
			stage(FailoverNotify, "Then until the notification reached the next client"),
			stage(FailoverRelist, "Then until the next client's acquire returned"),
		},
		collect: func(f *Fold) collector {
			x := &failovers{fold: f}
			return collector{record: x.record, handoff: x.handoff, close: x.close}
		},
	})
}

type failovers struct {
	fold    *Fold
	rounds  int
	outside []string // descriptions of the rounds outside the prediction
	never   []string
	longest *Failover     // among the rounds with a prediction
	most    time.Duration // the largest prediction
}

func (x *failovers) handoff(h Handoff, last, next *facts.Belief) {
	phase := next.Phase
	if h.Failover || x.fold.phase(phase).Kind == history.SuccessionPhase {
		x.fold.observe(LeaderlessTime, phase, h.Nobody)
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
	if round.Outside() {
		x.outside = append(x.outside, round.String())
	}
	x.fold.OnFailover(round)
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

// outsideNamed is the maximum number of rounds outside the prediction that the note describes.
const outsideNamed = 3

func (x *failovers) close(out map[string]Metric) {
	if x.rounds == 0 {
		return
	}
	m := Metric{Unit: "1", Value: new(float64(len(x.outside))), Expected: new(0.0), Count: new(int64(x.rounds))}
	if len(x.outside) > 0 {
		named := x.outside[:min(len(x.outside), outsideNamed)]
		m.Note = strings.Join(named, "; ")
		if more := len(x.outside) - len(named); more > 0 {
			m.Note += fmt.Sprintf("; and %d more", more)
		}
	}
	out[FailoverOutside] = m
	if x.most > 0 {
		out[FailoverPredicted] = Metric{Unit: "ns", Value: new(float64(x.most))}
	}
	total := x.fold.distributions[FailoverLatency]
	if total != nil && x.longest != nil {
		total.note = "the longest was " + x.longest.String()
	}
	for _, phase := range x.never {
		for _, d := range []*distributed{total, x.fold.distributions[FailoverLatency+"."+phase]} {
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
	// Stages contains the parts of Latency, by metric; nil if the session did not have to expire.
	Stages map[string]time.Duration
}

// Outside reports whether the failover took less or more time than predicted.
func (f Failover) Outside() bool { return f.Never || f.Latency < f.Least || f.Latency > f.Most }

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
		Phase: r.Phase, Round: r.Round, At: r.Injected, Least: r.Least, Most: r.Most, Mean: r.Mean,
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

// stages divides a failover at its recorded times.
func stages(r *history.Failover) map[string]time.Duration {
	out := map[string]time.Duration{}
	last := r.Injected
	until := func(name string, at time.Duration) {
		if at > 0 {
			out[name] = max(0, at-last)
			last = max(last, at)
		}
	}
	if r.Heard > 0 && r.Expired > 0 {
		until(FailoverDetect, min(r.Heard+r.Timeout, r.Expired)) // the rest is rounding and lag
		until(FailoverExpire, r.Expired)
		until(FailoverCommit, r.Committed)
	} else {
		until(FailoverExpire, r.Committed)
	}
	until(FailoverNotify, r.Woken)
	until(FailoverRelist, r.Granted)
	return out
}
