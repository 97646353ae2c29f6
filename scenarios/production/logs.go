// Package production observes the locks of a live ensemble, without taking part: from copies of its
// transaction logs, or by reading its nodes over one session. It writes nothing.
package production

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/report/observe"
	"github.com/zkbench/zkbench/report/units"
)

// firstZxid is the zxid of an ensemble's first transaction: before it, there are no sessions.
const firstZxid = 1<<32 + 1

type member struct {
	dir       string
	logs      []string // oldest first
	snapshots map[int64]string
}

// Logs observes the nodes at and below a path in copies of the members' transaction logs
// (log.ZXID) and snapshots (snapshot.ZXID). A path names such a file, a folder with them, a member's
// folder with version-2 in it, or a folder of members' folders.
func Logs(ctx context.Context, paths []string, t *observe.Tracker) (*observe.Observation, error) {
	members, err := findMembers(paths)
	if err != nil {
		return nil, err
	}
	after, snapshot := startingPoint(members)
	r := &reader{tracker: t, bySession: map[int64][]txnlog.Node{}}
	source := ""
	switch {
	case snapshot != "" && zxidOf(filepath.Base(snapshot), "snapshot.") < after:
		t.AddIncompleteReason("the transactions between %s and %#x, with which the logs begin, are missing: nodes that were created before it are unknown", filepath.Base(snapshot), after+1)
	case snapshot != "":
		source = ", from " + filepath.Base(snapshot)
		if err := r.load(snapshot, after); err != nil {
			return nil, fmt.Errorf("%s: %w", snapshot, err)
		}
	case after > 0:
		t.AddIncompleteReason("the logs begin with transaction %#x, and there is no earlier snapshot: nodes that were created before it are unknown", after+1)
	}
	var logs [][]io.Reader
	for _, m := range members {
		var files []io.Reader
		for _, name := range txnlog.Select(m.logs, after) {
			f, err := os.Open(filepath.Join(m.dir, name))
			if err != nil {
				return nil, err
			}
			defer f.Close()
			files = append(files, f)
		}
		if len(files) > 0 {
			logs = append(logs, files)
		}
	}
	s, err := txnlog.Merge(0, after, 0, func(e txnlog.Entry) error { r.apply(&e); return ctx.Err() }, logs...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		t.AddIncompleteReason("reading ended after transaction %#x: %v", s.Last, err)
	}
	for _, g := range s.Gaps[:min(5, len(s.Gaps))] {
		t.AddIncompleteReason("transactions are missing: %v", g)
	}
	if s.Unrelated > 0 {
		t.AddIncompleteReason("the transactions of %s are not part of the history of the others: check that all logs are of one ensemble", units.Plural(s.Unrelated, "member"))
	}
	if s.Cut == len(logs) {
		t.AddIncompleteReason("the newest log is cut inside a transaction, and readable until %#x, at %s: later transactions are unknown", s.Last, r.last.UTC().Format("2006-01-02 15:04:05.000"))
	}
	if s.Unknown > 0 {
		t.AddIncompleteReason("%s could not be decoded", units.Plural(s.Unknown, "transaction"))
	}
	if s.Entries == 0 {
		return nil, fmt.Errorf("%s: no transaction was found in these logs", strings.Join(paths, ", "))
	}
	return t.Done(r.last, fmt.Sprintf("%s in the logs of %s%s, up to %#x. Times are from the clock of the ensemble's leader, to the millisecond.",
		units.Plural(s.Entries, "transaction"), units.Plural(len(logs), "member"), source, s.Last)), nil
}

// findMembers returns the members whose files the paths name. The member that wrote last is first: its log
// decides which transactions were committed.
func findMembers(paths []string) ([]*member, error) {
	found := map[string]*member{}
	for _, p := range paths {
		n := len(found)
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if !info.Mode().IsRegular() { // opening a named pipe would block
				return nil, fmt.Errorf("%s is not a regular file (%v): copy the member's logs to files", p, info.Mode().Type())
			}
			if err := addFile(found, filepath.Dir(p), filepath.Base(p)); err != nil {
				return nil, err
			}
			continue
		}
		if err := addFolder(found, p, 2); err != nil {
			return nil, err
		}
		if len(found) == n {
			return nil, fmt.Errorf("%s has no transaction logs: want files log.ZXID in it, in its version-2 folder, or in one folder per member", p)
		}
	}
	var members []*member
	logs := 0
	for _, m := range found {
		members, logs = append(members, m), logs+len(m.logs)
	}
	if logs == 0 {
		return nil, errors.New("found snapshots, but no transaction log (log.ZXID): copy the logs from the member's dataLogDir")
	}
	newest := func(m *member) (zxid int64) {
		for _, name := range m.logs {
			zxid = max(zxid, zxidOf(name, "log."))
		}
		return zxid
	}
	slices.SortFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(newest(b), newest(a)), strings.Compare(a.dir, b.dir))
	})
	return members, nil
}

// addFolder adds the files of a folder, or of its folders down to a depth.
func addFolder(found map[string]*member, dir string, depth int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case e.IsDir() && depth > 0:
			if err := addFolder(found, filepath.Join(dir, e.Name()), depth-1); err != nil {
				return err
			}
		case e.Type().IsRegular() && (zxidOf(e.Name(), "log.") >= 0 || zxidOf(e.Name(), "snapshot.") >= 0):
			if err := addFile(found, dir, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func addFile(found map[string]*member, dir, name string) error {
	m := found[dir]
	if m == nil {
		m = &member{dir: dir, snapshots: map[int64]string{}}
	}
	switch snapshot := zxidOf(name, "snapshot."); {
	case snapshot >= 0:
		m.snapshots[snapshot] = filepath.Join(dir, name)
	case slices.Contains(m.logs, name):
	case zxidOf(name, "log.") >= 0 && strings.HasSuffix(name, ".gz"):
		return fmt.Errorf("%s is compressed: unpack it with gunzip", filepath.Join(dir, name))
	case zxidOf(name, "log.") >= 0:
		m.logs = append(m.logs, name)
	default:
		return fmt.Errorf("%s is neither a transaction log (log.ZXID) nor a snapshot (snapshot.ZXID)", filepath.Join(dir, name))
	}
	found[dir] = m
	return nil
}

// zxidOf returns the zxid in a file's name; -1 if it has no such name.
func zxidOf(name, prefix string) int64 {
	digits, ok := strings.CutPrefix(name, prefix)
	if zxid, err := strconv.ParseInt(strings.TrimSuffix(digits, ".gz"), 16, 64); ok && err == nil {
		return zxid
	}
	return -1
}

// startingPoint returns the zxid after which to read, and the snapshot with the nodes that existed then. snapshot
// is "" if there is none, or none is needed, because the logs begin with the first transaction. Transactions are
// missing if the snapshot is older than after.
func startingPoint(members []*member) (after int64, snapshot string) {
	first, snapshots := int64(-1), map[int64]string{}
	for _, m := range members {
		for _, name := range m.logs {
			if z := zxidOf(name, "log."); first < 0 || z < first {
				first = z
			}
		}
		maps.Copy(snapshots, m.snapshots)
	}
	if first <= 1 || first == firstZxid { // the first of a standalone server, and of an ensemble
		return 0, ""
	}
	older := int64(-1)
	after = -1
	for z := range snapshots {
		if z < first-1 {
			older = max(older, z)
		} else if after < 0 || z < after {
			after = z
		}
	}
	switch {
	// A member that begins to lead writes a snapshot, and its log continues with the first
	// transaction of its epoch.
	case older >= 0 && first&(1<<32-1) == 1:
		after = older
	case after < 0:
		return first - 1, snapshots[older]
	}
	return after, snapshots[after]
}

type reader struct {
	tracker   *observe.Tracker
	existing  []txnlog.Node           // until the first transaction
	bySession map[int64][]txnlog.Node // of the snapshot, by session
	last      time.Time
}

func (r *reader) load(snapshot string, after int64) error {
	f, err := os.Open(snapshot)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(snapshot, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	return txnlog.Ephemerals(in, func(n txnlog.Node) {
		if n.Zxid <= after { // later ones follow in the log
			r.existing = append(r.existing, n)
			r.bySession[n.Session] = append(r.bySession[n.Session], n)
		}
	})
}

func (r *reader) apply(e *txnlog.Entry) {
	if r.last.IsZero() {
		r.tracker.Start(e.Time)
		slices.SortFunc(r.existing, func(a, b txnlog.Node) int { return cmp.Compare(a.Zxid, b.Zxid) })
		for _, n := range r.existing {
			r.tracker.Existing(n.Path, n.Session, n.Created, e.Time)
		}
		r.existing = nil
	}
	r.last = e.Time
	switch e.Type {
	case txnlog.Multi:
		for i := range e.Parts {
			r.change(e, &e.Parts[i])
		}
	case txnlog.CloseSession:
		how := observe.Closed
		if e.Cxid == 0 {
			how = observe.Expired
		}
		for _, path := range e.Removed {
			r.tracker.Delete(path, how, e.Session, e.Time)
		}
		if !e.Listed {
			for _, n := range r.bySession[e.Session] {
				r.tracker.Delete(n.Path, how, e.Session, e.Time)
			}
		}
		delete(r.bySession, e.Session)
		r.tracker.SessionEnded(how)
	default:
		r.change(e, &e.Op)
	}
}

func (r *reader) change(e *txnlog.Entry, o *txnlog.Op) {
	switch {
	case o.Type == txnlog.Create && o.Ephemeral:
		r.tracker.Create(o.Path, e.Session, e.Time)
	case o.Type == txnlog.Delete:
		r.tracker.Delete(o.Path, observe.Released, e.Session, e.Time)
	}
}
