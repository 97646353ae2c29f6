package phases

import (
	"fmt"
	"time"
)

// Advice is a session timeout that keeps a promised failover time, and its consequences.
type Advice struct {
	Tick    time.Duration `json:"tick_ns"`            // tickTime of the servers
	Timeout time.Duration `json:"session_timeout_ns"` // the longest timeout that keeps the promise, at most 20 ticks
	// Times from the crash of a holder until the next client is granted.
	Least time.Duration `json:"least_ns"`
	Most  time.Duration `json:"most_ns"`
	Mean  time.Duration `json:"mean_ns"`
	// WithElection is the same as Most, if the leader of the ensemble fails as well.
	WithElection time.Duration `json:"most_with_election_ns"`
	// Safe is the longest pause of a client's process that cannot end its session.
	Safe time.Duration `json:"longest_safe_pause_ns"`
	// Lost is the expected number of sessions that end needlessly per hour and client.
	Lost float64 `json:"needless_losses_per_hour"`
}

// Pause describes regular pauses of a client's process, such as garbage collections.
type Pause struct {
	For     time.Duration `json:"for_ns"`
	PerHour float64       `json:"per_hour"`
}

// AdviceOptions are the parameters of [Advise]. Slack is the time for a commit, a notification and a
// list together; 0 means 500 ms.
type AdviceOptions struct {
	Promise, Tick, Slack time.Duration
	Election             bool // the promise includes a failure of the ensemble's leader
	Pauses               []Pause
}

// Advise returns the longest session timeout that keeps the promise, by the formulas that the failover
// scenario validates. It returns an error if no timeout that servers grant, 2 to 20 ticks, keeps it.
func Advise(o AdviceOptions) (Advice, error) {
	if o.Slack == 0 {
		o.Slack = defaultSlack
	}
	crash, both := Causes["crash"], Causes["crash+leader.kill"]
	bound := crash
	if o.Election {
		bound = both
	}
	timeout := o.Promise - bound.predict(0, o.Tick, 0, o.Slack, false).most
	if timeout < 2*o.Tick {
		return Advice{}, fmt.Errorf("with a tick of %v, servers grant session timeouts of at least %v. The next grant can then take up to %v, which is more than the promise of %v; use a shorter tick",
			o.Tick, 2*o.Tick, bound.predict(2*o.Tick, o.Tick, 0, o.Slack, false).most, o.Promise)
	}
	a := Advice{Tick: o.Tick, Timeout: min(max(timeout.Truncate(100*time.Millisecond), 2*o.Tick), 20*o.Tick)}
	p := crash.predict(a.Timeout, o.Tick, a.Timeout/3, o.Slack, false)
	a.Least, a.Most, a.Mean = p.least, p.most, p.mean
	a.WithElection = both.predict(a.Timeout, o.Tick, 0, o.Slack, false).most
	a.Safe = a.Timeout - a.Timeout/3
	for _, pause := range o.Pauses {
		a.Lost += pause.PerHour * lossProbability(pause.For, a.Timeout)
	}
	return a, nil
}

// lossProbability returns an upper bound of the probability that a pause ends the session. The servers
// count the timeout from the last ping, which was sent at most a third of the timeout before the pause (uniformly
// distributed). The bound ignores that they round up to the next tick.
func lossProbability(pause, timeout time.Duration) float64 {
	third := float64(timeout) / 3
	return min(1, max(0, (float64(pause)-2*third)/third))
}
