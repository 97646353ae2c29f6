//go:build linux

package production

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/txnlog"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/observe"
	"golang.org/x/sync/errgroup"
)

// held is a hold as its client knows it.
type held struct {
	node     string
	session  string
	from, to time.Time // the return of acquire, and the call of release
	end      observe.End
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestObservation(t *testing.T) {
	t.Setenv("ZKBENCH_STATE", t.TempDir())
	e, err := process.Start(t.Context(), ensembles.Options{Tick: 500 * time.Millisecond, Logf: t.Logf})
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	other := session(t, e)
	must(t, other.MakePath(t.Context(), "/locks/a"))
	t.Run("logs", func(t *testing.T) { testLogs(t, e, other) })
	t.Run("live", func(t *testing.T) { testLive(t, e, other) })
	t.Run("logs that begin after a restart", func(t *testing.T) { testRestarted(t, e) })
}

func session(t *testing.T, e *ensembles.Ensemble) *recipes.Session {
	t.Helper()
	s, err := recipes.Open(t.Context(), e.Servers(), recipes.Options{Timeout: 4 * time.Second})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// hold acquires the lock and ends the hold in a way.
func hold(t *testing.T, l *recipes.Lock, s, other *recipes.Session, end observe.End) held {
	t.Helper()
	g, err := l.Acquire(t.Context())
	must(t, err)
	h := held{node: path.Base(g.Path), session: fmt.Sprintf("%#x", g.SessionID), from: time.Now(), end: end}
	switch h.to = time.Now(); end {
	case observe.Released:
		err = g.Release(t.Context())
	case observe.Closed:
		err = s.Close()
	case observe.Foreign:
		err = other.Delete(t.Context(), g.Path)
	}
	must(t, err)
	return h
}

// compare reports differences between the observed holds of a line and those that the clients know.
func compare(t *testing.T, l observe.ParentStats, want []held, ends bool, slack time.Duration) {
	t.Helper()
	if len(l.Holds) != len(want) {
		t.Fatalf("%d holds of %s, want %d", len(l.Holds), l.Parent, len(want))
	}
	for i, w := range want {
		got := l.Holds[i]
		if got.Node != w.node || got.Session != w.session || ends && got.End != w.end {
			t.Errorf("hold %d is %+v, want %+v", i, got, w)
		}
		if got.From.After(w.from.Add(slack)) || got.To.Before(w.to.Add(-2*time.Millisecond)) {
			t.Errorf("hold %d from %v to %v, and its client had it from %v to %v", i, got.From, got.To, w.from, w.to)
		}
	}
}

// copied copies the files of members into folders, as an operator would.
func copied(t *testing.T, members []*ensembles.Member) (dirs []string) {
	t.Helper()
	for _, m := range members {
		logs, err := m.Machine.TxnLogs(t.Context(), 0)
		if err != nil || len(logs) == 0 {
			t.Fatalf("%d logs, %v", len(logs), err)
		}
		from := filepath.Dir(logs[0].(interface{ Name() string }).Name())
		for _, l := range logs {
			l.(io.Closer).Close()
		}
		to := filepath.Join(t.TempDir(), m.Name, "version-2")
		must(t, os.CopyFS(to, os.DirFS(from)))
		dirs = append(dirs, filepath.Dir(to))
	}
	return dirs
}

func observed(t *testing.T, limits observe.Limits, paths ...string) *observe.Observation {
	t.Helper()
	o, err := Logs(t.Context(), paths, observe.NewTracker("/locks", limits))
	must(t, err)
	return o
}

func testLogs(t *testing.T, e *ensembles.Ensemble, other *recipes.Session) {
	var want []held
	for _, end := range []observe.End{observe.Released, observe.Released, observe.Closed, observe.Foreign, observe.Released} {
		s := session(t, e)
		want = append(want, hold(t, recipes.NewLock(s, "/locks/a", recipes.Predecessor), s, other, end))
	}
	dirs := copied(t, e.Members)
	none := observe.Limits{MaxExpired: -1}
	checkCut(t, dirs[0])
	for _, of := range [][]string{dirs, dirs[:1], {filepath.Dir(dirs[0]), dirs[1], dirs[2]}} {
		o := observed(t, none, of...)
		if len(o.IncompleteReasons) > 0 || len(o.Lines) != 1 || o.Result() != "pass" {
			t.Fatalf("%s of %d lines: %q", o.Result(), len(o.Lines), o.IncompleteReasons)
		}
		compare(t, o.Lines[0], want, true, 2*time.Millisecond)
	}
	if o := observed(t, observe.Limits{MaxExpired: -1, MaxHold: time.Nanosecond}, dirs...); o.Result() != "fail" {
		t.Errorf("holds of more than 1 ns: %s", o.Result())
	}
}

// checkCut checks a copy of a member's logs that ends inside a transaction, as of a full disk.
func checkCut(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "version-2", "log.*"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v: want one log", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	must(t, err)
	cut := filepath.Join(t.TempDir(), filepath.Base(logs[0]))
	text = bytes.TrimRight(text, "\x00")
	must(t, os.WriteFile(cut, text[:len(text)-5], 0o644))
	o := observed(t, observe.Limits{MaxExpired: -1}, cut)
	if o.Result() != "unknown" || !strings.Contains(strings.Join(o.IncompleteReasons, " "), "cut inside a transaction") {
		t.Errorf("a log that is cut: %s, %q", o.Result(), o.IncompleteReasons)
	}
}

// A member that begins to lead writes a snapshot, here with the holder's node, and continues in another log.
func testRestarted(t *testing.T, e *ensembles.Ensemble) {
	none := observe.Limits{MaxExpired: -1}
	s, err := recipes.Open(t.Context(), e.Servers(), recipes.Options{Timeout: 10 * time.Second})
	must(t, err)
	defer s.Close()
	g, err := recipes.NewLock(s, "/locks/a", recipes.Predecessor).Acquire(t.Context())
	must(t, err)
	for _, do := range []func(ensembles.Machine, context.Context) error{ensembles.Machine.Kill, ensembles.Machine.Start} {
		var g errgroup.Group
		for _, m := range e.Members {
			g.Go(func() error { return do(m.Machine, t.Context()) })
		}
		must(t, g.Wait())
	}
	must(t, ensembles.WaitServing(t.Context(), e))
	next, err := ensembles.Leader(t.Context(), e)
	must(t, err)
	last := held{node: path.Base(g.Path), session: fmt.Sprintf("%#x", g.SessionID), to: time.Now(), end: observe.Released}
	must(t, g.Release(t.Context()))
	dir := copied(t, []*ensembles.Member{next})[0]
	files, err := filepath.Glob(filepath.Join(dir, "version-2", "log.*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v: want two logs", files, err)
	}
	slices.Sort(files)
	for _, f := range files[:len(files)-1] {
		must(t, os.Remove(f))
	}
	o := observed(t, none, dir)
	if len(o.IncompleteReasons) > 0 || len(o.Lines) != 1 || !strings.Contains(o.Source, "from snapshot.") {
		t.Fatalf("%q, %s, %d lines", o.IncompleteReasons, o.Source, len(o.Lines))
	}
	last.from = o.Lines[0].Holds[0].From // of a node that existed at the beginning
	compare(t, o.Lines[0], []held{last}, true, 0)

	snapshots, err := filepath.Glob(filepath.Join(dir, "version-2", "snapshot.*"))
	if err != nil || len(snapshots) == 0 {
		t.Fatalf("%v, %v", snapshots, err)
	}
	for _, f := range snapshots {
		must(t, os.Remove(f))
	}
	if o := observed(t, none, dir); o.Result() != "unknown" || !strings.Contains(strings.Join(o.IncompleteReasons, " "), "there is no earlier snapshot") {
		t.Errorf("without a snapshot: %s, %q", o.Result(), o.IncompleteReasons)
	}
}

// Live observation finds the holders that stay longer than its interval, and leaves nothing.
func testLive(t *testing.T, e *ensembles.Ensemble, other *recipes.Session) {
	const interval = 100 * time.Millisecond
	var want []held
	// One parent may not be read, one is removed.
	owner, err := recipes.Open(t.Context(), e.Servers(), recipes.Options{Auth: []recipes.Auth{{Scheme: "digest", Auth: "a:b"}}, ACL: zk.AuthACL(zk.PermAll)})
	must(t, err)
	defer owner.Close()
	_, err = owner.Create(t.Context(), "/locks/secret", nil, 0)
	must(t, err)
	must(t, other.MakePath(t.Context(), "/locks/removed"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 4 {
			if i == 1 {
				if err := other.Delete(t.Context(), "/locks/removed"); err != nil {
					t.Error(err)
				}
			}
			g, err := recipes.NewLock(other, "/locks/a", recipes.Predecessor).Acquire(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			h := held{node: path.Base(g.Path), session: fmt.Sprintf("%#x", g.SessionID), from: time.Now()}
			select {
			case <-time.After(5 * interval):
			case <-t.Context().Done():
			}
			h.to = time.Now()
			if err := g.Release(t.Context()); err != nil {
				t.Error(err)
			}
			want = append(want, h)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-done
		select {
		case <-time.After(3 * interval):
		case <-ctx.Done():
		}
		cancel()
	}()
	began := time.Now()
	o, err := Live(ctx, Config{Servers: e.Servers(), Path: "/locks", Interval: interval, For: time.Minute}, observe.NewTracker("/locks", observe.Limits{MaxExpired: -1}))
	must(t, err)
	if !slices.Equal(o.IncompleteReasons, []string{"/locks/secret cannot be read with these credentials"}) || len(o.Lines) != 1 {
		t.Fatalf("%d lines, %q", len(o.Lines), o.IncompleteReasons)
	}
	compare(t, o.Lines[0], want, false, 2*interval)
	var requests int
	if _, err := fmt.Sscanf(o.Source[strings.Index(o.Source, "with ")+5:], "%d requests", &requests); err != nil || requests == 0 || float64(requests) > 101*time.Since(began).Seconds() {
		t.Errorf("%d requests in %v, %v: %s", requests, time.Since(began), err, o.Source)
	}
}

func TestStartingPoint(t *testing.T) {
	for about, test := range map[string]struct {
		first     int64
		snapshots []int64
		after     int64
		snapshot  string
	}{
		"a standalone server's first transaction": {1, []int64{0}, 0, ""},
		"an ensemble's first transaction":         {firstZxid, []int64{0}, 0, ""},
		"a standalone server after a purge":       {0x37, []int64{0x36}, 0x36, "36"},
		"a snapshot within the logs":              {firstZxid + 9, []int64{firstZxid + 20, firstZxid + 12}, firstZxid + 12, "10000000d"},
		"a snapshot before the first of an epoch": {2<<32 + 1, []int64{firstZxid + 12, 2<<32 + 7}, firstZxid + 12, "10000000d"},
		"a snapshot too early":                    {firstZxid + 9, []int64{0, firstZxid + 2}, firstZxid + 8, "100000003"},
		"no snapshot":                             {0x37, nil, 0x36, ""},
	} {
		m := &member{logs: []string{fmt.Sprintf("log.%x", test.first)}, snapshots: map[int64]string{}}
		for _, z := range test.snapshots {
			m.snapshots[z] = fmt.Sprintf("%x", z)
		}
		if after, snapshot := startingPoint([]*member{m}); after != test.after || snapshot != test.snapshot {
			t.Errorf("%s: after %#x with %q, want %#x with %q", about, after, snapshot, test.after, test.snapshot)
		}
	}
}

// A snapshot lists nodes in no order.
func TestReader_addsTheNodesOfASnapshotInTheirOrder(t *testing.T) {
	begin := time.UnixMilli(1_000_000)
	tr := observe.NewTracker("/locks", observe.Limits{MaxExpired: -1, MaxWait: time.Second})
	r := &reader{tracker: tr, bySession: map[int64][]txnlog.Node{}, existing: []txnlog.Node{
		{Path: "/locks/a/x-0000000009", Session: 9, Zxid: 9, Created: begin.Add(-time.Minute)},
		{Path: "/locks/a/x-0000000008", Session: 8, Zxid: 8, Created: begin.Add(-time.Hour)},
	}}
	r.apply(&txnlog.Entry{Time: begin, Session: 9, Op: txnlog.Op{Type: txnlog.Delete, Path: "/locks/a/x-0000000009"}})
	o := tr.Done(begin.Add(time.Second), "")
	if l := o.Lines[0]; l.Left != 1 || l.Held.Count != 0 || l.Waited.Max != 0 || l.Handoff != 0 || o.Exceeds() {
		t.Errorf("%+v: want that x-0000000008 is first in line all the time, after an unknown wait; %+v", l, o.Anomalies)
	}
}

func TestLogs_wrongPaths(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"zoo.cfg": "x", "only/snapshot.5": "x", "broken/log.1": "no log at all, but long enough to be one"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	must(t, syscall.Mkfifo(filepath.Join(dir, "log.2"), 0o600))
	for name, want := range map[string]string{
		"log.2": "not a regular file (p---------)", "nowhere": "no such file", "zoo.cfg": "neither a transaction log", "only": "no transaction log", "broken": "no transaction was found",
	} {
		_, err := Logs(t.Context(), []string{filepath.Join(dir, name)}, observe.NewTracker("/locks", observe.Limits{}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
