package ensembles

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/zkbench/zkbench/ensembles/txnlog"
)

// Commits calls each for every transaction that the ensemble has committed after a
// zxid, in order, until now. It reads the members' own logs: the leader's, and
// those of the others for what the leader was sent as a snapshot. The summary
// says what is missing.
//
// The error wraps [ErrNotOurs] where we do not run the members. An error of each
// ends it.
func Commits(ctx context.Context, e *Ensemble, after int64, each func(txnlog.Entry) error) (txnlog.Summary, error) {
	leader, server, err := leading(Status(ctx, e))
	if err != nil {
		return txnlog.Summary{}, fmt.Errorf("reading what was committed: %w", err)
	}
	others := slices.DeleteFunc(slices.Clone(e.Members), func(m *Member) bool { return m == leader })
	var logs [][]io.Reader
	for _, m := range append([]*Member{leader}, others...) {
		if m.Machine == nil {
			return txnlog.Summary{}, fmt.Errorf("reading what was committed: %s: %w", m.Name, ErrNotOurs)
		}
		files, err := m.Machine.TxnLogs(ctx, after)
		if err != nil {
			return txnlog.Summary{}, fmt.Errorf("reading what was committed: %w", err)
		}
		var log []io.Reader
		for _, f := range files {
			defer f.Close()
			log = append(log, f)
		}
		logs = append(logs, log)
	}
	// The leader has applied this much: a majority has written it down, though perhaps not itself.
	return txnlog.Merge(after, server.Zxid, each, logs...)
}
