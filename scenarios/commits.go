package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// commitsTimeout bounds the reading of the members' logs, also after an interruption.
const commitsTimeout = 30 * time.Second

// saveCommits reads the transactions after a zxid from the members' logs, and stores the trial's transactions
// next to its history. Without access to the logs, it stores nothing, and the trial is evaluated without commits.
func (t *trial) saveCommits(after int64) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitsTimeout)
	defer cancel()
	path := history.CommitsPath(report.HistoryPath(t.runner.Dir, t.name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var all []txnlog.Entry
	strayRecorded := false
	summary, readErr := ensembles.Commits(ctx, t.runner.ensemble, after, func(e txnlog.Entry) error {
		if path := t.strayPath(e); path != "" && !strayRecorded {
			strayRecorded = true
			t.Record.Record(&history.TrialFailure{At: t.Clock.Now(), Why: fmt.Sprintf("session %#x, which did not connect through zkbench's listeners, "+
				"changed %s (zxid %#x): the clients of a driver must connect only to the addresses in the open request (zkbench help drivers)", uint64(e.Session), path, uint64(e.Zxid))})
		}
		if t.belongsToTrial(e) {
			all = append(all, e)
		}
		return nil
	})
	if errors.Is(readErr, ensembles.ErrNotOurs) {
		return nil
	}
	t.recordRollover(after, summary.Last)
	w, err := history.Create(path, t.header())
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	for _, e := range all {
		for _, c := range t.commits(e) {
			w.Record(c)
		}
	}
	end := &history.CommitsEnd{After: after, Last: summary.Last, Read: summary.Entries, Unknown: summary.Unknown}
	for _, g := range summary.Gaps {
		end.Gaps = append(end.Gaps, history.ZxidGap(g))
	}
	if readErr != nil {
		end.Err = readErr.Error()
	}
	w.Record(end)
	return w.Close()
}

// recordRollover records whether a new epoch began because the transaction counter overflowed. It does nothing
// if the scenario does not set the first zxid.
func (t *trial) recordRollover(first, last int64) {
	if t.Scenario.FirstZxid == 0 {
		return
	}
	now := t.Clock.Now()
	w := &history.Window{Fault: "zxid.rollover", Target: "ensemble", Client: -1, Start: now, End: now}
	if before, after := first>>32, last>>32; after > before {
		w.Proof = fmt.Sprintf("the trial began in epoch %d and ended in epoch %d", before, after)
	} else {
		w.Err = fmt.Sprintf("all transactions were in epoch %d: too few for the transaction counter to overflow", before)
	}
	t.Record.Record(w)
}

func (t *trial) hasOpened(session int64) bool {
	_, ok := t.sessions.Load(session)
	return ok
}

func (t *trial) belongsToTrial(e txnlog.Entry) bool {
	below := func(o txnlog.Op) bool { return strings.HasPrefix(o.Path, t.Observer.Root+"/") }
	return t.hasOpened(e.Session) || slices.ContainsFunc(e.Ops(), below)
}

// strayPath returns a path in the trial's subtree that the transaction changed, if its session belongs to neither a
// client nor the harness; otherwise "". Only drivers can connect without a listener. Session 0 belongs to the
// servers, which remove empty containers.
func (t *trial) strayPath(e txnlog.Entry) string {
	if !t.Driven || e.Session == 0 || t.hasOpened(e.Session) || t.Observer.Owns(e.Session) {
		return ""
	}
	for _, o := range e.Ops() {
		if o.Type != txnlog.Error && (o.Path == t.Parent || strings.HasPrefix(o.Path, t.Parent+"/")) {
			return o.Path
		}
	}
	return ""
}

var commitOps = map[txnlog.Type]string{
	txnlog.OpenSession: history.CommitOpen, txnlog.CloseSession: history.CommitClose, txnlog.Create: history.CommitCreate,
	txnlog.Delete: history.CommitDelete, txnlog.SetData: history.CommitSet, txnlog.Error: history.CommitError,
}

func (t *trial) commits(e txnlog.Entry) (out []*history.Commit) {
	for _, o := range e.Ops() {
		op, ok := commitOps[o.Type]
		if !ok {
			continue // a check or a reconfiguration: not needed by verdicts
		}
		k := &history.Commit{Zxid: e.Zxid, Session: e.Session, Cxid: e.Cxid, Op: op, Path: o.Path,
			Ephemeral: o.Ephemeral, Version: o.Version, Code: o.Err, Removed: e.Removed}
		if op == history.CommitCreate && t.IsQueue() && strings.HasPrefix(o.Path, t.Parent+"/") {
			k.Item = stage.ItemIDOf(o.Data)
		}
		out = append(out, k)
	}
	return out
}
