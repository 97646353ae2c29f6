package ensembles

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/zkbench/zkbench/ensembles/txnlog"
)

// Commits calls each for every transaction that the ensemble has committed after a zxid, in order,
// until now. It reads the logs of the voting members: the leader's, and the others' logs for
// the transactions that the leader received as a snapshot. A majority of them has logged every commit, so the logs
// of observers add nothing. The summary lists the missing parts.
//
// The error wraps [ErrNotOurs] if the ensemble is not [Logged]. An error of each ends it.
func Commits(ctx context.Context, e *Ensemble, after int64, each func(txnlog.Entry) error) (txnlog.Summary, error) {
	if !Logged(e) {
		return txnlog.Summary{}, fmt.Errorf("reading the transaction logs: %w", ErrNotOurs)
	}
	status := Status(ctx, e)
	leader, err := leading(status)
	if err != nil {
		return txnlog.Summary{}, fmt.Errorf("reading the transaction logs: %w", err)
	}
	others := slices.DeleteFunc(e.Voting(), func(m *Member) bool { return m == leader })
	var logs [][]io.Reader
	for _, m := range append([]*Member{leader}, others...) {
		files, err := m.Machine.TxnLogs(ctx, after)
		if err != nil {
			return txnlog.Summary{}, fmt.Errorf("reading the transaction logs: %w", err)
		}
		var log []io.Reader
		for _, f := range files {
			defer f.Close()
			log = append(log, f)
		}
		logs = append(logs, log)
	}
	return txnlog.Merge(after, applied(status), each, logs...)
}

// applied returns the highest zxid that a member has applied: a majority has logged it, but perhaps
// not every member. The leader announces a commit before it applies it, so a client of another
// member can have its reply before the leader shows it.
func applied(all []MemberStatus) (zxid int64) {
	for _, s := range all {
		if s.Err == nil {
			zxid = max(zxid, s.Server.Zxid)
		}
	}
	return zxid
}

// Logged reports whether the transaction logs of all voting members can be read: of our own, and of
// members with a command for it.
func Logged(e *Ensemble) bool {
	return !slices.ContainsFunc(e.Voting(), func(m *Member) bool {
		lent, ok := m.Machine.(interface{ Logged() bool })
		return m.Machine == nil || ok && !lent.Logged()
	})
}
