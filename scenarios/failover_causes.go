package scenarios

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/units"
)

// cause is one way in which a holder can end in a failover.
type cause struct {
	name string
	// act is what the client does itself; nil where faults do it.
	act    func(ctx context.Context, held *attempt) error
	faults []causeFault // injected at once
	stays  bool         // the holder keeps its session, and has let go
	// keeps says that the session can survive it: then the holder goes on holding,
	// and nothing need be passed on.
	keeps   bool
	expires bool // the servers must let the session run out first
	goesOn  bool // the holder goes on where it was, once another has been granted
	elects  bool // the ensemble must elect a leader first
}

// causeFault is a fault by its name, and what it hits.
type causeFault struct{ fault, target string }

var causes = map[string]*cause{}

func init() {
	crash := causeFault{"session.expire", chaos.Holder}
	leaderKill := causeFault{"member.kill", chaos.Leader}
	for _, c := range []cause{
		{name: "release", stays: true, act: func(ctx context.Context, held *attempt) error { return held.release(ctx) }},
		{name: "close", act: func(_ context.Context, held *attempt) error { return held.c.leave() }},
		{name: "expel", faults: []causeFault{{"session.close", chaos.Holder}}}, // its session is closed from elsewhere
		{name: "crash", faults: []causeFault{crash}, expires: true},            // its connections are cut, and it cannot make new ones
		{name: "freeze", faults: []causeFault{{"session.freeze", chaos.Holder}}, expires: true},
		{name: "pause", faults: []causeFault{{"client.pause", chaos.Holder}}, expires: true, goesOn: true}, // its process stands still
		{name: "server.kill", faults: []causeFault{{"member.kill", chaos.MemberOf + chaos.Holder}}, keeps: true},
		{name: "leader.kill", faults: []causeFault{leaderKill}, keeps: true, elects: true},
		{name: "crash+leader.kill", faults: []causeFault{crash, leaderKill}, expires: true, elects: true},
	} {
		causes[c.name] = &c
	}
}

// lacking is why the cause cannot be had on an ensemble; nil where it can. Where a member that
// is killed takes the majority with it nobody can be granted, whatever the recipe does.
func (c *cause) lacking(e *ensembles.Ensemble) error {
	n := len(e.Voting())
	if slices.Contains(c.faultNames(), "member.kill") && n-1 < n/2+1 {
		return fmt.Errorf("%w: %s leaves no majority of %s, and nobody could be granted; use 3 or more", chaos.ErrSkipped, c.name, units.Plural(n, "member"))
	}
	return nil
}

// causeNames returns the names of all causes of a failover, in order.
func causeNames() []string { return slices.Sorted(maps.Keys(causes)) }

func (c *cause) faultNames() []string {
	return namesOf(c.faults, func(f causeFault) string { return f.fault })
}

// entries are the faults to be played.
func (c *cause) entries() ([]chaos.Entry, error) {
	var entries []chaos.Entry
	for _, f := range c.faults {
		fault, err := chaos.Parse(f.fault, f.target, nil)
		if err != nil {
			return nil, err
		}
		entries = append(entries, chaos.Entry{Fault: fault})
	}
	return entries, nil
}

// Allowances in the prediction.
const (
	// defaultSlack is what a commit, a notification and a list may take together on a
	// busy machine: the W + L of the formulas. The scenario's parameter slack overrides it.
	defaultSlack = 500 * time.Millisecond
	// electLimit is what the ensemble may take to elect a leader and serve again.
	// ZooKeeper needs 0.4 to 0.9 s where the machine is idle.
	electLimit = 3 * time.Second
)

// prediction is how long the next grant may take after a hit.
type prediction struct {
	least, most time.Duration
	mean        time.Duration // of many, the hits at any moment alike; 0 where no formula says
}

// predict applies the formulas of ZooKeeper's expiry. timeout is T, negotiated; unheard
// is how long before the hit the servers heard the session last; onLeader says
// whether the leader itself served it.
//
// The servers count from what they heard last, which the hit follows by unheard: at
// most T/3, the interval of pings. A follower tells the leader up to tick/2 later. The
// leader rounds the end up to the next tick. Then come the commit of the session's
// end, the notification and, in some variants, a list: slack.
//
//	T - unheard <= failover <= T + tick/2 + tick + slack
//	mean = T - T/6 + lag + tick/2, lag being tick/4 on average behind a follower
//
// A new leader arms every session anew when it takes over.
func (c *cause) predict(timeout, tick, unheard, slack time.Duration, onLeader bool) prediction {
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
