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

// members are the servers of the ensemble, as a trial sees them.
type members struct {
	ensemble *ensembles.Ensemble
	network  *chaos.Network // cuts their networks; nil where nobody can
	shared   bool           // other trials run at the same time: the members' counters are everybody's
}

// ours says whether nobody else is connected to the members.
func (m members) ours() bool { return m.ensemble.Kind != ensembles.External }

// The members' own counters of fired watches, by what fired them (mntr, ZooKeeper
// 3.6 and later).
var firedCounters = []string{
	"sum_node_created_watch_count", "sum_node_deleted_watch_count",
	"sum_node_changed_watch_count", "sum_node_children_watch_count",
}

// count asks every member how many notifications it has fired, and how many watches stand.
// Both are -1 where a member does not say, because mntr is not on its white list.
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

// leads says whether the member with that client address leads the ensemble.
func (m members) leads(ctx context.Context, addr string) bool {
	leader, err := ensembles.Leader(ctx, m.ensemble)
	return err == nil && leader.Addr == addr
}

// electionLimit is how long members may take to elect a leader where nothing is broken: a machine
// that stands still for a second makes them elect again.
const electionLimit = 20 * time.Second

// leader returns the member that leads, when there is one.
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

// target is what faults act on. holder returns who holds; nil where nobody can.
func (m members) target(clients []*client, holder func(stay bool) int) chaos.Target {
	taps := make([]wire.Client, len(clients))
	for i, c := range clients {
		taps[i] = c.wire
	}
	return chaos.Target{Ensemble: m.ensemble, Network: m.network, Clients: taps, Holder: holder}
}

// expiredAgo returns how long ago the leader let a session run out, by the members' own
// logs, which have it to the millisecond. ok is false where no log says so.
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

// stamp is the time of day at which a line was logged.
var stamp = regexp.MustCompile(`\b\d\d:(\d\d):(\d\d)[.,](\d\d\d)\b`)

// zones is what the clocks of time zones differ by, at the least: the time zone of a
// member's log is not known.
const zones = 15 * time.Minute

// logAge returns how long before now a line was logged that is younger than zones.
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
