package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
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
	dir, err := os.MkdirTemp("", "zkbench-expiry-")
	if err != nil {
		return 0, false
	}
	defer os.RemoveAll(dir)
	line := fmt.Appendf(nil, "Expiring session %#x,", uint64(session))
	for _, member := range m.ensemble.Members {
		if member.Machine == nil || member.Machine.Save(ctx, dir) != nil {
			continue
		}
		log, err := os.ReadFile(filepath.Join(dir, member.Name+".log"))
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
