package stage

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report/history"
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
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return 0, false
		}
		at += time.Duration(n) * unit
	}
	day := now.Sub(now.Truncate(24 * time.Hour))
	return ((day-at)%zoneStep + zoneStep) % zoneStep, true
}

const (
	loadsEvery = 250 * time.Millisecond // interval of queries to each member
	loadLimit  = 2 * time.Second        // limit for a reply
)

// loads queries every member's load periodically, and records the reply or its absence. Members are
// queried independently of each other.
type loads struct {
	st      *Stage
	Opening atomic.Bool // sessions are being opened
	end     context.CancelFunc
	queries sync.WaitGroup
}

// WatchLoads starts the queries. Members that zkbench started first reset their latency counters, so that
// the counters cover only this trial. Stop must be called.
func (st *Stage) WatchLoads(ctx context.Context) *loads {
	ctx, cancel := context.WithCancel(ctx)
	l := &loads{st: st, end: cancel}
	l.Opening.Store(true)
	for _, m := range st.Members.Ensemble.Members {
		own := st.Members.IsManaged() && !st.Members.SharedMembers && reset(ctx, m) == nil
		l.queries.Go(func() {
			every(ctx, loadsEvery, func() {
				if r := l.query(ctx, m, own); ctx.Err() == nil {
					st.Record.Record(r)
				}
			})
		})
	}
	return l
}

func reset(ctx context.Context, m *ensembles.Member) error {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	_, err := ensembles.FourLetter(ctx, m, "srst")
	return err
}

// Stop ends the queries and waits for their end.
func (l *loads) Stop() {
	l.end()
	l.queries.Wait()
}

// query queries a member once. own means that the member's latency counters cover only this phase.
func (l *loads) query(ctx context.Context, m *ensembles.Member, own bool) *history.MemberLoad {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	opening := l.Opening.Load()
	mntr, err := ensembles.QueryCounters(ctx, m)
	r := &history.MemberLoad{At: l.st.Clock.Now(), Phase: l.st.Phase.Name, Member: m.Name, Opening: opening}
	outstanding, known := mntr["outstanding_requests"]
	switch {
	case err != nil:
		r.Err = err.Error()
	case !known:
		r.Err = fmt.Sprintf("the mntr reply of %s does not contain outstanding_requests", m.Name)
	default:
		r.Outstanding, r.Connections = new(int64(outstanding)), new(int64(mntr["num_alive_connections"]))
		if own {
			r.LatencyMean, r.LatencyMax = milliseconds(mntr["avg_latency"]), milliseconds(mntr["max_latency"])
		}
	}
	return r
}

func milliseconds(n float64) *time.Duration { return new(time.Duration(n * float64(time.Millisecond))) }

// RecordRollover records whether a new epoch began because the transaction counter overflowed. It does nothing
// if the scenario does not set the first zxid.
func (st *Stage) RecordRollover(first, last int64) {
	if st.Scenario.FirstZxid == 0 {
		return
	}
	now := st.Clock.Now()
	w := &history.Window{Fault: "zxid.rollover", Target: "ensemble", Client: -1, Start: now, End: now}
	if before, after := first>>32, last>>32; after > before {
		w.Proof = fmt.Sprintf("the trial began in epoch %d and ended in epoch %d", before, after)
	} else {
		w.Err = fmt.Sprintf("all transactions were in epoch %d: too few for the transaction counter to overflow", before)
	}
	st.Record.Record(w)
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

// root is the path of the trial's subtree, with a slash at its end.
func (st *Stage) root() string { return strings.TrimSuffix(st.Parent, "line") }

// hasOpened reports whether one of the trial's clients has opened the session.
func (st *Stage) hasOpened(session int64) bool {
	_, ok := st.sessions.Load(session)
	return ok
}

// BelongsToTrial reports whether the transaction belongs to the trial's subtree or its sessions.
func (st *Stage) BelongsToTrial(e txnlog.Entry) bool {
	if st.hasOpened(e.Session) {
		return true
	}
	for _, o := range e.Ops() {
		if strings.HasPrefix(o.Path, st.root()) {
			return true
		}
	}
	return false
}

// StrayPath returns a path in the trial's subtree that the transaction changed, if its session belongs to neither a
// client nor the harness; otherwise "". Only drivers can connect without a listener. Session 0 belongs to the
// servers, which remove empty containers.
func (st *Stage) StrayPath(e txnlog.Entry) string {
	if !st.Driven || e.Session == 0 || st.hasOpened(e.Session) || st.Observer.Owns(e.Session) {
		return ""
	}
	for _, o := range e.Ops() {
		if o.Type != txnlog.Error && (o.Path == st.Parent || strings.HasPrefix(o.Path, st.Parent+"/")) {
			return o.Path
		}
	}
	return ""
}

var commitOps = map[txnlog.Type]string{
	txnlog.OpenSession: history.CommitOpen, txnlog.CloseSession: history.CommitClose, txnlog.Create: history.CommitCreate,
	txnlog.Delete: history.CommitDelete, txnlog.SetData: history.CommitSet, txnlog.Error: history.CommitError,
}

// Commits converts a transaction to records of the history.
func (st *Stage) Commits(e txnlog.Entry) (out []*history.Commit) {
	for _, o := range e.Ops() {
		op, ok := commitOps[o.Type]
		if !ok {
			continue // a check or a reconfiguration: not needed by verdicts
		}
		k := &history.Commit{Zxid: e.Zxid, Session: e.Session, Cxid: e.Cxid, Op: op, Path: o.Path,
			Ephemeral: o.Ephemeral, Version: o.Version, Code: o.Err, Removed: e.Removed}
		if op == history.CommitCreate && st.IsQueue() && strings.HasPrefix(o.Path, st.Parent+"/") {
			k.Item = itemIDOf(o.Data)
		}
		out = append(out, k)
	}
	return out
}
