package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// commitsTimeout bounds the reading of the members' logs, also after an interruption.
const commitsTimeout = 30 * time.Second

// saveCommits reads the transactions after a zxid from the members' logs, and stores the trial's transactions
// next to its history. Without access to the logs, it stores nothing, and the trial is evaluated without commits.
func (t *trial) saveCommits(after int64) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitsTimeout)
	defer cancel()
	path := history.CommitsPath(report.HistoryPath(t.runner.dir, t.name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var all []txnlog.Entry
	strayRecorded := false
	summary, readErr := ensembles.Commits(ctx, t.runner.ensemble, after, func(e txnlog.Entry) error {
		if path := t.stage.StrayPath(e); path != "" && !strayRecorded {
			strayRecorded = true
			t.stage.Record.Record(&history.TrialFailure{At: t.stage.Clock.Now(), Why: fmt.Sprintf("session %#x, which did not connect through zkbench's listeners, "+
				"changed %s (zxid %#x): the clients of a driver must connect only to the addresses in the open request (zkbench help drivers)", uint64(e.Session), path, uint64(e.Zxid))})
		}
		if t.stage.BelongsToTrial(e) {
			all = append(all, e)
		}
		return nil
	})
	if errors.Is(readErr, ensembles.ErrNotOurs) {
		return nil
	}
	t.stage.RecordRollover(after, summary.Last)
	w, err := history.Create(path, t.header())
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	for _, e := range all {
		for _, c := range t.stage.Commits(e) {
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
