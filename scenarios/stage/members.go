package stage

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
)

// Members are the ensemble's members, as a trial uses them.
type Members struct {
	Ensemble      *ensembles.Ensemble
	Network       *network.Network // for faults of their networks; nil if not available
	SharedMembers bool             // other trials run at the same time, so the members' counters are shared
}

// IsManaged reports whether zkbench started the members, so that no other traffic reaches them.
func (m Members) IsManaged() bool { return m.Ensemble.Kind != ensembles.External }

// The members' counters of sent notifications, by type of event (mntr, ZooKeeper 3.6 and later).
var firedCounters = []string{
	"sum_node_created_watch_count", "sum_node_deleted_watch_count",
	"sum_node_changed_watch_count", "sum_node_children_watch_count",
}

// counters returns the counters of each member (mntr), queried in parallel because a member may not reply; nil for
// such a member.
func (m Members) counters(ctx context.Context) []map[string]float64 {
	all := make([]map[string]float64, len(m.Ensemble.Members))
	var queries sync.WaitGroup
	for i, member := range m.Ensemble.Members {
		queries.Go(func() { all[i], _ = ensembles.QueryCounters(ctx, member) })
	}
	queries.Wait()
	return all
}

// IsLeader reports whether the member with that client address is the leader.
func (m Members) IsLeader(ctx context.Context, addr string) bool {
	leader, err := ensembles.Leader(ctx, m.Ensemble)
	return err == nil && leader.Addr == addr
}

// electionLimit bounds the time of an election without a fault, such as after a machine has stalled for a second.
const electionLimit = 20 * time.Second

// AwaitLeader waits for a leader and returns its member.
func (m Members) AwaitLeader(ctx context.Context) (leader *ensembles.Member, err error) {
	limit := Poll(ctx, electionLimit, func(ctx context.Context) (bool, error) {
		leader, err = ensembles.Leader(ctx, m.Ensemble)
		return err == nil, nil
	})
	if limit != nil {
		return nil, fmt.Errorf("%w: %w", limit, err)
	}
	return leader, nil
}

// ExpiredAgo returns how long ago the leader expired a session, according to the members' logs, to the
// millisecond. ok is false if no log shows it.
func (m Members) ExpiredAgo(ctx context.Context, session int64) (ago time.Duration, ok bool) {
	line := fmt.Appendf(nil, "Expiring session %#x,", uint64(session))
	for _, member := range m.Ensemble.Members {
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

// zoneStep is the smallest difference between time zones. A log's time zone is unknown, so ages are modulo zoneStep.
const zoneStep = 15 * time.Minute

// logAge returns the age of a log line that is younger than zoneStep.
func logAge(line string, now time.Time) (time.Duration, bool) {
	m := stamp.FindStringSubmatch(line)
	if m == nil {
		return 0, false
	}
	var at time.Duration
	for i, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		n, _ := strconv.Atoi(m[i+1]) // the pattern allows only digits
		at += time.Duration(n) * unit
	}
	day := now.Sub(now.Truncate(24 * time.Hour))
	return ((day-at)%zoneStep + zoneStep) % zoneStep, true
}

// LastZxid returns the leader's last zxid; 0 if no transaction log can be read.
func (m Members) LastZxid(ctx context.Context) (int64, error) {
	if !ensembles.CanReadLogs(m.Ensemble) {
		return 0, nil
	}
	leader, err := m.AwaitLeader(ctx)
	if err != nil {
		return 0, err
	}
	server, err := ensembles.Ask(ctx, leader)
	return server.Zxid, err
}
