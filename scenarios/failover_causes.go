package scenarios

import (
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/units"
)

// How a holder ends in a failover.
const (
	CauseRelease    = "release"           // it lets go, or resigns
	CauseClose      = "close"             // it closes its session
	CauseExpel      = "expel"             // its session is closed from elsewhere
	CauseCrash      = "crash"             // its connections are cut, and it cannot make new ones
	CauseFreeze     = "freeze"            // its process stands still
	CauseServerKill = "server.kill"       // the member that serves it is killed
	CauseLeaderKill = "leader.kill"       // the leader of the ensemble is killed
	CauseBoth       = "crash+leader.kill" // it crashes while the leader is killed
)

// ending is one way in which a holder can end.
type ending struct {
	about  string
	faults []string // names in the catalogue, injected at once; nil: the client itself acts
	// keeps says that the session can survive it: then the holder goes on holding,
	// and nothing need be passed on.
	keeps   bool
	expires bool // the servers must let the session run out first
	elects  bool // the ensemble must elect a leader first
}

var causes = map[string]ending{
	CauseRelease:    {about: "the holder lets go"},
	CauseClose:      {about: "the holder closes its session"},
	CauseExpel:      {about: "the holder's session is closed from elsewhere", faults: []string{"session.close"}},
	CauseCrash:      {about: "the holder's connections are cut until its session has expired", faults: []string{"session.expire"}, expires: true},
	CauseFreeze:     {about: "the holder's process stands still until the next one is in", faults: []string{"session.freeze"}, expires: true},
	CauseServerKill: {about: "the member that serves the holder is killed", faults: []string{"member.kill"}, keeps: true},
	CauseLeaderKill: {about: "the leader of the ensemble is killed", faults: []string{"member.kill"}, keeps: true, elects: true},
	CauseBoth: {about: "the holder crashes while the leader is killed", faults: []string{"session.expire", "member.kill"},
		expires: true, elects: true},
}

// Causes returns the names of all causes of a failover, in order.
func Causes() []string { return slices.Sorted(maps.Keys(causes)) }

// Allowances in the prediction.
const (
	// defaultSlack is what a commit, a notification and a list may take together on a
	// busy machine: the W + L of the formulas. The scenario's parameter slack overrides it.
	defaultSlack = 500 * time.Millisecond
	// electLimit is what the ensemble may take to elect a leader and serve again.
	// ZooKeeper needs 0.4 to 0.9 s where the machine is idle.
	electLimit = 3 * time.Second
)

// prediction is how long the next grant may take after a strike.
type prediction struct {
	least, most time.Duration
	mean        time.Duration // of many, the strikes at any moment alike; 0 where no formula says
}

// predict applies the formulas of ZooKeeper's expiry. timeout is T, negotiated; unheard
// is how long before the strike the servers heard the session last; onLeader says
// whether the leader itself served it.
//
// The servers count from what they heard last, which the strike follows by unheard: at
// most T/3, the interval of pings. A follower tells the leader up to tick/2 later. The
// leader rounds the end up to the next tick. Then come the commit of the session's
// end, the notification and, in some variants, a list: slack.
//
//	T - unheard <= failover <= T + tick/2 + tick + slack
//	mean = T - T/6 + lag + tick/2, lag being tick/4 on average behind a follower
//
// A new leader arms every session anew when it takes over.
func (c ending) predict(timeout, tick, unheard, slack time.Duration, onLeader bool) prediction {
	p := prediction{most: slack}
	if c.expires {
		p.least = timeout - min(unheard, timeout)
		p.most = timeout + tick/2 + tick + slack
		p.mean = timeout - timeout/6 + tick/2
		if !onLeader {
			p.mean += tick / 4
		}
	}
	if c.keeps { // or else the session expires
		p.most = timeout + tick/2 + tick + slack
	}
	if c.elects {
		p.most += electLimit
		p.mean = 0
	}
	return p
}

// validateFailover checks a phase of that kind.
func (p *Phase) validateFailover(at string, bad func(field, format string, args ...any)) {
	if p.Rounds < 0 || p.Rounds > maxRounds {
		bad(at+".rounds", "%d is not between 0 (leave it out) and %d", p.Rounds, maxRounds)
	}
	if p.Duration != 0 {
		bad(at+".duration", "a failover ends when its rounds are done; give rounds")
	}
	if len(p.Faults) > 0 {
		bad(at+".faults", "a failover has one fault, its cause; put others into a churn phase")
	}
	if _, ok := causes[p.Cause]; !ok {
		bad(at+".cause", "%q is no cause%s", p.Cause, units.Nearest(p.Cause, Causes()))
	}
}
