package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report/history"
)

type members struct {
	ensemble *ensembles.Ensemble
	network  *chaos.Network // for faults of their networks; nil if not available
	shared   bool           // other trials run at the same time, so the members' counters are shared
}

// ours reports whether the ensemble has no other clients.
func (m members) ours() bool { return m.ensemble.Kind != ensembles.External }

// The members' counters of sent notifications, by type of event (mntr, ZooKeeper 3.6 and later).
var firedCounters = []string{
	"sum_node_created_watch_count", "sum_node_deleted_watch_count",
	"sum_node_changed_watch_count", "sum_node_children_watch_count",
}

// count sums every member's counters of sent notifications and registered watches. Both are -1 if a
// member does not report them.
func (m members) count(ctx context.Context) (fired, watches int64, err error) {
	if m.shared {
		return -1, -1, nil
	}
	for _, member := range m.ensemble.Members {
		mntr, err := ensembles.Monitor(ctx, member)
		if ctx.Err() != nil {
			return -1, -1, ctx.Err()
		}
		if _, ok := mntr[firedCounters[0]]; err != nil || !ok {
			return -1, -1, nil
		}
		for _, key := range firedCounters {
			fired += int64(mntr[key])
		}
		watches += int64(mntr["watch_count"])
	}
	return fired, watches, nil
}

// leads reports whether the member with that client address is the leader.
func (m members) leads(ctx context.Context, addr string) bool {
	leader, err := ensembles.Leader(ctx, m.ensemble)
	return err == nil && leader.Addr == addr
}

// electionLimit bounds the time of an election without a fault: a machine that stalls for a second
// causes one.
const electionLimit = 20 * time.Second

func (m members) leader(ctx context.Context) (leader *ensembles.Member, err error) {
	limit := poll(ctx, electionLimit, func(ctx context.Context) (bool, error) {
		leader, err = ensembles.Leader(ctx, m.ensemble)
		return err == nil, nil
	})
	if limit != nil {
		return nil, fmt.Errorf("%w: %w", limit, err)
	}
	return leader, nil
}

// target returns the target of faults. holder returns the holder, or nil.
func (m members) target(clients []*client, holder func(stay bool) int) chaos.Target {
	taps := make([]wire.Client, len(clients))
	for i, c := range clients {
		taps[i] = c.wire
	}
	return chaos.Target{Ensemble: m.ensemble, Network: m.network, Clients: taps, Holder: holder}
}

// expiredAgo returns how long ago the leader expired a session, by the members' logs, to the
// millisecond. ok is false if no log shows it.
func (m members) expiredAgo(ctx context.Context, session int64) (ago time.Duration, ok bool) {
	line := fmt.Appendf(nil, "Expiring session %#x,", uint64(session))
	for _, member := range m.ensemble.Members {
		if member.Machine == nil {
			continue
		}
		log, err := member.Machine.RecentLog(ctx)
		if err != nil {
			continue
		}
		if at := bytes.LastIndex(log, line); at >= 0 {
			begin := bytes.LastIndexByte(log[:at], '\n') + 1
			if ago, ok := logAge(string(log[begin:at]), time.Now()); ok {
				return ago, true
			}
		}
	}
	return 0, false
}

var stamp = regexp.MustCompile(`\b\d\d:(\d\d):(\d\d)[.,](\d\d\d)\b`)

// zones is the smallest difference between time zones: the time zone of a member's log is unknown.
const zones = 15 * time.Minute

// logAge returns the age of a log line that is younger than zones.
func logAge(line string, now time.Time) (time.Duration, bool) {
	m := stamp.FindStringSubmatch(line)
	if m == nil {
		return 0, false
	}
	var at time.Duration
	for i, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return 0, false
		}
		at += time.Duration(n) * unit
	}
	day := now.Sub(now.Truncate(24 * time.Hour))
	return ((day-at)%zones + zones) % zones, true
}

// Status is the progress of one trial of a run.
type Status struct {
	Trial   int // from 1; 0 before the first
	Trials  int // number of trials of the run
	Subject string
	Clients int
	// If the trial takes turns with others: the numbers of the first and the last of them, and
	// their subjects, as in "lock/a with lock/b". Otherwise 0 and "".
	First, Last int
	Beside      string

	Phase   string
	Detail  string // such as "round 2 of 3" or "4s of 10s"
	Grants  int64
	Rate    float64       // grants per second of the trial's own turns, recently; 0 if unknown
	Left    time.Duration // estimated time until the run ends; 0 if unknown
	Fault   string        // active now, or ""
	Wire    wire.Counts
	Backlog int  // records that wait to be written
	Lost    int  // records that were dropped
	Over    bool // the trial has ended
}

// reportEvery is the interval of reports, unless a new part begins.
const reportEvery = 100 * time.Millisecond

type reporter struct {
	send     func(Status) // nil if not wanted
	estimate *estimate
	turns    *turnClock
	fault    atomic.Pointer[chaos.Window]

	mu     sync.Mutex
	last   time.Time // time of the last report
	status Status
	own    time.Duration // time of the trial's turns since the rate was computed
	grants int64         // grants at that time
}

// turnClock assigns time to trials that take turns, so that waiting does not lower a trial's rate.
type turnClock struct {
	mu   sync.Mutex
	last time.Time // last call of own
}

// own returns the caller's share of the time until now: all time since the last call by any trial.
// The end of a turn may count for the next trial, an error of a few milliseconds.
func (c *turnClock) own(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last
	c.last = now
	if last.IsZero() {
		return 0
	}
	return now.Sub(last)
}

func (st *stage) report(format string, args ...any) {
	r, now := st.status, time.Now()
	if r.send == nil {
		return
	}
	fault := ""
	if f := r.fault.Load(); f != nil {
		fault = history.Struck(f.Fault, f.Target)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own += r.turns.own(now)
	begins := r.status.Phase != st.phase.Name
	if !begins && r.status.Fault == fault && now.Sub(r.last) < reportEvery {
		return
	}
	if begins {
		r.own, r.grants = 0, st.grants.Load()
	}
	r.last = now
	r.status.Phase, r.status.Detail, r.status.Fault = st.phase.Name, fmt.Sprintf(format, args...), fault
	r.status.Left = r.estimate.left(now)
	st.sendStatus()
}

// reportEnd reports the final state of a trial that has ended. A trial that never began reports
// nothing.
func (st *stage) reportEnd() {
	r := st.status
	r.estimate.end(time.Now())
	if r.send == nil || st.tap == nil || st.record == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Fault, r.status.Over = "", true
	st.sendStatus()
}

// sendStatus sends the status with the current counts. reporter.mu is held.
func (st *stage) sendStatus() {
	r := st.status
	r.status.Wire = st.tap.Totals()
	stats := st.record.Stats()
	r.status.Backlog, r.status.Lost = stats.Backlog, stats.Lost
	r.count(st.grants.Load())
	r.send(r.status)
}

// rateOver is the minimum time over which a rate is computed. All turns of a trial of a short
// scenario may be less than a second.
const rateOver = 500 * time.Millisecond

// count takes the number of grants and updates the rate at intervals.
func (r *reporter) count(grants int64) {
	r.status.Grants = grants
	if r.own >= rateOver {
		r.status.Rate = float64(grants-r.grants) / r.own.Seconds()
		r.own, r.grants = 0, grants
	}
}
