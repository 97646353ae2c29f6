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

// cause is a way in which a grant can end in a failover.
type cause struct {
	name string
	// act is an action of the client itself; nil if faults cause the failover.
	act    func(ctx context.Context, held *attempt) error
	faults []causeFault // injected at once
	stays  bool         // the holder keeps its session and has released
	// keeps means that the session can survive: then the holder may keep its grant.
	keeps   bool
	expires bool // the session must expire first
	goesOn  bool // the holder continues after another client was granted
	elects  bool // the ensemble must elect a leader first
}

// causeFault is a fault and its target.
type causeFault struct{ fault, target string }

var causes = map[string]*cause{}

func init() {
	crash := causeFault{"session.expire", chaos.Holder}
	leaderKill := causeFault{"member.kill", chaos.Leader}
	for _, c := range []cause{
		{name: "release", stays: true, act: func(ctx context.Context, held *attempt) error { return held.release(ctx) }},
		{name: "close", act: func(_ context.Context, held *attempt) error { return held.c.leave() }},
		{name: "expel", faults: []causeFault{{"session.close", chaos.Holder}}}, // its session is closed by another client
		{name: "crash", faults: []causeFault{crash}, expires: true},            // its connections are cut, and new ones refused
		{name: "freeze", faults: []causeFault{{"session.freeze", chaos.Holder}}, expires: true},
		{name: "pause", faults: []causeFault{{"client.pause", chaos.Holder}}, expires: true, goesOn: true}, // its process is stopped
		{name: "server.kill", faults: []causeFault{{"member.kill", chaos.MemberOf + chaos.Holder}}, keeps: true},
		{name: "leader.kill", faults: []causeFault{leaderKill}, keeps: true, elects: true},
		{name: "crash+leader.kill", faults: []causeFault{crash, leaderKill}, expires: true, elects: true},
	} {
		causes[c.name] = &c
	}
}

// lacking returns why the cause is not available on an ensemble, or nil. If killing one member
// takes the quorum with it, no client can be granted, regardless of the recipe does.
func (c *cause) lacking(e *ensembles.Ensemble) error {
	n := len(e.Voting())
	if slices.Contains(c.faultNames(), "member.kill") && n-1 < n/2+1 {
		return fmt.Errorf("%w: %s leaves no majority of %s, so no client could be granted; use 3 or more", chaos.ErrSkipped, c.name, units.Plural(n, "member"))
	}
	return nil
}

func causeNames() []string { return slices.Sorted(maps.Keys(causes)) }

func (c *cause) faultNames() []string {
	return namesOf(c.faults, func(f causeFault) string { return f.fault })
}

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

// Margins of the prediction.
const (
	// defaultSlack bounds the time of a commit, a notification and a list together on a busy
	// machine: W + L in the formulas. The scenario's parameter slack overrides it.
	defaultSlack = 500 * time.Millisecond
	// electLimit bounds the time to elect a leader and serve again. ZooKeeper needs 0.4 to 0.9 s on
	// an idle machine.
	electLimit = 3 * time.Second
)

// prediction is the range of times until the next grant after a hit.
type prediction struct {
	least, most time.Duration
	mean        time.Duration // over hits at uniformly distributed moments; 0 without a formula
}

// predict applies the formulas of ZooKeeper's session expiry. timeout is T, negotiated; unheard is
// the time before the hit at which the servers last received a message of the session; onLeader
// reports whether the leader itself served it.
//
// The servers count from the last message, which is at most T/3, the interval of pings, before the
// hit. A follower tells the leader up to tick/2 later. The leader rounds the end up to the next
// tick. Then come the commit of the session's end, the notification and, in some variants, a list:
// slack.
//
//	T - unheard <= failover <= T + tick/2 + tick + slack
//	mean = T - T/6 + lag + tick/2, lag being tick/4 on average behind a follower
//
// A new leader starts every session's timeout again when it takes over.
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
	if c.keeps { // otherwise the session expires
		p.most = timeout + tick/2 + tick + slack
	}
	if c.elects {
		p.most += electLimit
		p.mean = 0
	}
	return p
}
