package stage

import (
	"context"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report/history"
)

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
	if !ensembles.Logged(m.Ensemble) {
		return 0, nil
	}
	leader, err := m.Leader(ctx)
	if err != nil {
		return 0, err
	}
	server, err := ensembles.Ask(ctx, leader)
	return server.Zxid, err
}

// CommitFilter selects the transactions of a trial: its subtree and its clients' sessions.
type CommitFilter struct {
	root     string
	sessions map[int64]bool
	queue    bool
}

func (st *Stage) CommitFilter() CommitFilter {
	ids := map[int64]bool{}
	st.sessions.Range(func(id, _ any) bool { ids[id.(int64)] = true; return true })
	return CommitFilter{root: strings.TrimSuffix(st.Parent, "/line") + "/", sessions: ids, queue: st.IsQueue()}
}

// Concerns reports whether the transaction belongs to the trial's subtree or its sessions.
func (c CommitFilter) Concerns(e txnlog.Entry) bool {
	if c.sessions[e.Session] {
		return true
	}
	for _, o := range e.Ops() {
		if strings.HasPrefix(o.Path, c.root) {
			return true
		}
	}
	return false
}

// Stray returns a path in the trial's subtree that the transaction changed, if its session belongs to neither a
// client nor the harness; otherwise "". Only drivers can connect without a listener. Session 0 belongs to the
// servers, which remove empty containers.
func (st *Stage) Stray(cut CommitFilter, e txnlog.Entry) string {
	if !st.Driven || e.Session == 0 || cut.sessions[e.Session] || st.Observer.Owns(e.Session) {
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
func (c CommitFilter) Commits(e txnlog.Entry) (out []*history.Commit) {
	for _, o := range e.Ops() {
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
