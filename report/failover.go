package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Names of the metrics of a failover scenario and of what follows a fault.
const (
	// FailoverOutside is how many rounds took less or more than was predicted.
	FailoverOutside = "failover.outside"
	// The stages of a failover in which the session had to expire first; they add up
	// to its failover.latency. Where the members' logs are not at hand, the first
	// two are absent and expire has all that comes before the commit.
	FailoverDetect = "failover.detect" // what was left of the session timeout at the strike
	FailoverExpire = "failover.expire" // until the leader let the session run out: rounding to a tick, and a follower's lag
	FailoverCommit = "failover.commit" // until the first member had removed the node
	FailoverNotify = "failover.notify" // until the notification reached the next client
	FailoverRelist = "failover.relist" // until its grant returned
	// RecoveryTime is from the beginning of healing until all members serve, one
	// leads, and a write was seen by each.
	RecoveryTime = "recovery.time"
	// OutageTime is each time for which nobody held although somebody had to, from one
	// holder's end to the next grant, of those in which a fault was in force.
	OutageTime = "outage.time"
	// ConnectionsPeak is the highest rate at which the members took connections,
	// over about a second.
	ConnectionsPeak = "connections.peak"
)

// Stages are the stages of a failover in their order.
var Stages = []string{FailoverDetect, FailoverExpire, FailoverCommit, FailoverNotify, FailoverRelist}

// failoverIn is the metric of the rounds of one phase, which have one cause.
func failoverIn(phase string) string { return FailoverLatency + "." + phase }

// Failover is one round of a failover.
type Failover struct {
	Phase   string
	Cause   string
	Round   int
	Timeout time.Duration // negotiated
	At      time.Duration // the strike
	// Latency is from the strike to the next grant; where the holder kept its grant
	// (Kept), until it knew that it had. Never says that nothing came.
	Latency time.Duration
	Kept    bool
	Never   bool
	// Least and Most bound what was predicted, Mean is the average over many, 0
	// where no formula says.
	Least, Most, Mean time.Duration
	// Stages are what Latency is made of, by the names in Stages; nil where the session
	// had not to expire.
	Stages map[string]time.Duration
}

// Outside says whether it took less or more time than predicted.
func (f Failover) Outside() bool { return f.Never || f.Latency < f.Least || f.Latency > f.Most }

// String says in one line what happened.
func (f Failover) String() string {
	if f.Never {
		return fmt.Sprintf("%s, round %d: nobody was granted", f.Phase, f.Round)
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

// failoverOf makes a round of its record.
func failoverOf(r *history.Failover) Failover {
	f := Failover{
		Phase: r.Phase, Cause: r.Cause, Round: r.Round, Timeout: r.Timeout, At: r.Injected,
		Least: r.Least, Most: r.Most, Mean: r.Mean,
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

// stages splits a failover at the instants that were seen.
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
		until(FailoverDetect, min(r.Heard+r.Timeout, r.Expired)) // from here on only rounding and lag are waited for
		until(FailoverExpire, r.Expired)
		until(FailoverCommit, r.Committed)
	} else {
		until(FailoverExpire, r.Committed)
	}
	until(FailoverNotify, r.Woken)
	until(FailoverRelist, r.Granted)
	return out
}

// failovers gathers the rounds of a trial.
type failovers struct {
	rounds, outside int
	worst           *Failover // the longest
	strange         []string  // those outside, in words
	peak            float64   // connections a second
	counted         bool      // there were counts of connections
}

func (f *folding) failedOver(r Failover, n *history.Failover) {
	o := &f.over
	o.rounds++
	if r.Outside() {
		o.outside++
		o.strange = append(o.strange, r.String())
	}
	if f.onFailover != nil {
		f.onFailover(r)
	}
	if r.Never {
		return
	}
	f.observe(failoverIn(r.Phase), r.Phase, r.Latency)
	for name, d := range r.Stages {
		f.observe(name, r.Phase, d)
	}
	if r.Kept && n.Suspended > 0 {
		f.observe(LeaderlessTime, r.Phase, n.Restored-n.Suspended)
	}
	if !r.Kept && n.Most > 0 && (o.worst == nil || r.Latency > o.worst.Latency) {
		o.worst = &r
	}
}

// strangeShown is how many rounds outside the prediction are named.
const strangeShown = 3

// addFailovers puts what the rounds came to among the metrics.
func (f *folding) addFailovers(out map[string]Metric) {
	o := f.over
	if o.counted {
		out[ConnectionsPeak] = Metric{Unit: "1/s", Value: new(o.peak)}
	}
	if o.rounds == 0 {
		return
	}
	m := Metric{Unit: "1", Value: new(float64(o.outside)), Expected: new(0.0), Count: new(int64(o.rounds))}
	if len(o.strange) > 0 {
		shown := o.strange[:min(len(o.strange), strangeShown)]
		m.Note = strings.Join(shown, "; ")
		if more := len(o.strange) - len(shown); more > 0 {
			m.Note += fmt.Sprintf("; and %d more", more)
		}
	}
	out[FailoverOutside] = m
	if total, ok := out[FailoverLatency]; ok && o.worst != nil {
		total.Note = "the longest was " + o.worst.String()
		out[FailoverLatency] = total
	}
}
