package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// commitsTimeout bounds the reading of the members' logs. An interrupted trial reads them too.
const commitsTimeout = 30 * time.Second

type sessions struct {
	mu  sync.Mutex
	ids map[int64]bool
}

func (s *sessions) add(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[int64]bool{}
	}
	s.ids[id] = true
}

// saveCommits reads the transactions after a zxid from the members' logs, and stores the ones that
// concern the trial next to its history. It does nothing if the logs cannot be read: the trial is
// then evaluated without them.
func (t *trial) saveCommits(after int64) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitsTimeout)
	defer cancel()
	path := history.CommitsPath(report.HistoryPath(t.runner.dir, t.name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var all []txnlog.Entry
	cut := t.stage.commitsCut()
	strayed := false
	summary, readErr := ensembles.Commits(ctx, t.runner.ensemble, after, func(e txnlog.Entry) error {
		if path := t.stage.stray(cut, e); path != "" && !strayed {
			strayed = true
			t.stage.record.Record(&history.Unplayed{At: t.stage.clock.Now(), Why: fmt.Sprintf("session %#x, which came through none of zkbench's listeners, "+
				"touched %s (zxid %#x): the driver's clients must stay on the addresses that open names (zkbench help drivers)", uint64(e.Session), path, uint64(e.Zxid))})
		}
		if cut.concerns(e) {
			all = append(all, e)
		}
		return nil
	})
	if errors.Is(readErr, ensembles.ErrNotOurs) {
		return nil
	}
	t.stage.recordRollover(after, summary.Last)
	w, err := history.Create(path, t.header())
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	for _, e := range all {
		for _, c := range cut.commits(e) {
			w.Record(c)
		}
	}
	w.Record(commitsEnd(after, summary, readErr))
	return w.Close()
}

// recordRollover records whether a new epoch began because the transactions' numbers overflowed, if the
// scenario makes them.
func (st *stage) recordRollover(first, last int64) {
	if st.scenario.FirstZxid == 0 {
		return
	}
	now := st.clock.Now()
	w := &history.Window{Fault: "zxid.rollover", Target: "ensemble", Client: -1, Start: now, End: now}
	if before, after := first>>32, last>>32; after > before {
		w.Proof = fmt.Sprintf("the trial began in epoch %d and ended in epoch %d", before, after)
	} else {
		w.Err = fmt.Sprintf("all transactions were of epoch %d: too few for its numbers to overflow", before)
	}
	st.record.Record(w)
}

func (m members) lastZxid(ctx context.Context) (int64, error) {
	if !ensembles.Logged(m.ensemble) {
		return 0, nil
	}
	leader, err := m.leader(ctx)
	if err != nil {
		return 0, err
	}
	server, err := ensembles.Ask(ctx, leader)
	return server.Zxid, err
}

func commitsEnd(after int64, s txnlog.Summary, err error) *history.CommitsEnd {
	end := &history.CommitsEnd{After: after, Last: s.Last, Read: s.Entries, Unknown: s.Unknown}
	for _, g := range s.Gaps {
		end.Gaps = append(end.Gaps, history.ZxidGap(g))
	}
	if err != nil {
		end.Err = err.Error()
	}
	return end
}

// commitsCut selects the transactions of a trial: its subtree and its clients' sessions.
type commitsCut struct {
	root     string
	sessions map[int64]bool
	queue    bool
}

func (st *stage) commitsCut() commitsCut {
	st.sessions.mu.Lock()
	defer st.sessions.mu.Unlock()
	return commitsCut{root: strings.TrimSuffix(st.parent, "/line") + "/", sessions: maps.Clone(st.sessions.ids), queue: st.queue()}
}

func (c commitsCut) concerns(e txnlog.Entry) bool {
	if c.sessions[e.Session] {
		return true
	}
	for _, o := range ops(e) {
		if strings.HasPrefix(o.Path, c.root) {
			return true
		}
	}
	return false
}

// stray returns the path in the trial's subtree that a session which is neither a client's nor the
// harness's has changed, or "". Only drivers can connect without a listener. Session
// 0 belongs to the servers, which remove empty containers.
func (st *stage) stray(cut commitsCut, e txnlog.Entry) string {
	if !st.driven || e.Session == 0 || cut.sessions[e.Session] || st.observer.Owns(e.Session) {
		return ""
	}
	for _, o := range ops(e) {
		if o.Type != txnlog.Error && (o.Path == st.parent || strings.HasPrefix(o.Path, st.parent+"/")) {
			return o.Path
		}
	}
	return ""
}

func ops(e txnlog.Entry) []txnlog.Op {
	if e.Type == txnlog.Multi {
		return e.Parts
	}
	return []txnlog.Op{e.Op}
}

var commitOps = map[txnlog.Type]string{
	txnlog.OpenSession: history.CommitOpen, txnlog.CloseSession: history.CommitClose, txnlog.Create: history.CommitCreate,
	txnlog.Delete: history.CommitDelete, txnlog.SetData: history.CommitSet, txnlog.Error: history.CommitError,
}

// commits converts a transaction to records of the history.
func (c commitsCut) commits(e txnlog.Entry) (out []*history.Commit) {
	for _, o := range ops(e) {
		op, ok := commitOps[o.Type]
		if !ok {
			continue // a check or a reconfiguration: not needed by verdicts
		}
		k := &history.Commit{Zxid: e.Zxid, Session: e.Session, Cxid: e.Cxid, Op: op, Path: o.Path,
			Ephemeral: o.Ephemeral, Version: o.Version, Code: o.Err, Removed: e.Removed}
		if op == history.CommitCreate && c.queue && strings.HasPrefix(o.Path, c.root+"line/") {
			k.Item = identity(o.Data)
		}
		out = append(out, k)
	}
	return out
}
