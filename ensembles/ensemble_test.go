package ensembles_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/txnlog"
)

// ZooKeeper's request types and flags.
const (
	create, remove, setData, setACL, checkVersion, multi, create2, container, closeSession = 1, 2, 5, 7, 13, 14, 15, 19, -11
	persistent, ephemeral, ephemeralSequential                                             = int32(0), int32(1), int32(3)
)

// anyone may do everything.
var anyone = raw(pack(int32(1), int32(31), "world", "anyone"))

func TestMain(m *testing.M) { check.Main(m) }

// commits reads everything after a zxid, and fails where something is missing.
func commits(t *testing.T, e *ensembles.Ensemble, after int64) []txnlog.Entry {
	t.Helper()
	var all []txnlog.Entry
	s, err := ensembles.Commits(t.Context(), e, after, func(entry txnlog.Entry) error {
		all = append(all, entry)
		return nil
	})
	check.OK(t, err)
	if s.Entries != len(all) || s.Gaps != nil || s.Unknown != 0 || s.Uncommitted != 0 {
		t.Errorf("the log is not whole: %+v", s)
	}
	return all
}

// line is what a test compares of an entry.
func line(e txnlog.Entry) string {
	text := fmt.Sprintf("%#x session %#x cxid %d: %v", e.Zxid, e.Session, e.Cxid, e.Type)
	for _, o := range append([]txnlog.Op{e.Op}, e.Parts...) {
		if o.Path != "" {
			text += fmt.Sprintf(" %s", o.Path)
		}
		if o.Ephemeral {
			text += " ephemeral"
		}
		if o.Size > 0 {
			text += fmt.Sprintf(" %q", o.Data)
		}
		if o.Version != 0 {
			text += fmt.Sprintf(" v%d", o.Version)
		}
		if o.Err != 0 {
			text += fmt.Sprintf(" err %d", o.Err)
		}
	}
	if e.Listed {
		text += fmt.Sprintf(" %v", e.Removed)
	}
	if e.Timeout > 0 {
		text += fmt.Sprintf(" %v", e.Timeout)
	}
	return text
}

func TestCommits_areWhatTheClientsDid(t *testing.T) {
	e, err := process.Start(check.Within(t, time.Minute), ensembles.Options{Tick: 500 * time.Millisecond, Logf: t.Logf})
	check.OK(t, err)
	check.Down(t, e)
	leader, err := ensembles.Leader(t.Context(), e)
	check.OK(t, err)
	began := time.Now()
	if unused := commits(t, e, 0); len(unused) > 0 {
		t.Errorf("an ensemble that nobody has used: %v", unused)
	}

	c := dial(t, check.WithMode(t, e, ensembles.ModeFollower).Addr, 4*time.Second)
	want := []string{": open-session 4s"}
	do := func(wantErr int32, entry string, code int32, fields ...any) {
		t.Helper()
		zxid, failed := c.Do(code, fields...)
		if failed != wantErr {
			t.Errorf("%s: error %d, want %d", entry, failed, wantErr)
		}
		want = append(want, fmt.Sprintf("%#x session %#x cxid %d: %s", zxid, c.Session, c.Cxid, entry))
	}
	op := func(code int32) raw { return raw(pack(code, false, int32(-1))) } // the header of a part
	end := raw(pack(int32(-1), true, int32(-1)))
	do(0, `create /a "x"`, create, "/a", "x", anyone, persistent)
	do(0, `create /a/s-0000000000 ephemeral "y"`, create2, "/a/s-", "y", anyone, ephemeralSequential)
	do(0, `create /c`, container, "/c", "", anyone, int32(4))
	do(0, `set-data /a "new" v1`, setData, "/a", "new", int32(-1))
	do(0, `set-acl /a v1`, setACL, "/a", anyone, int32(-1))
	do(-110, `error err -110`, create, "/a", "x", anyone, persistent)
	do(0, `delete /a/s-0000000000`, remove, "/a/s-0000000000", int32(-1))
	do(0, `multi /m "x" /a "newer" v2 /c v1 /m`, multi,
		op(create), "/m", "x", anyone, persistent, op(setData), "/a", "newer", int32(1),
		op(checkVersion), "/c", int32(0), op(remove), "/m", int32(-1), end)
	// Its reply says in the body what failed.
	do(0, `multi err -101 err -101 err -2`, multi,
		op(create), "/n", "x", anyone, persistent, op(remove), "/missing", int32(-1), op(remove), "/a", int32(-1), end)
	do(0, `create /a/e ephemeral`, create, "/a/e", "", anyone, ephemeral)
	do(0, `close-session [/a/e]`, closeSession)

	killed := dial(t, leader.Addr, time.Second)
	zxid, _ := killed.Do(create, "/k", "", anyone, ephemeral)
	killed.conn.Close() // and not the session
	want = append(want, ": open-session 1s", fmt.Sprintf("%#x session %#x cxid 1: create /k ephemeral", zxid, killed.Session),
		fmt.Sprintf(" session %#x cxid 0: close-session [/k]", killed.Session))

	var got []txnlog.Entry
	check.Eventually(t, "the server lets the session expire", func() bool {
		got = commits(t, e, 0)
		return len(got) >= len(want)
	})
	if len(got) != len(want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	for i, entry := range got {
		if l := line(entry); i < len(want) && !strings.HasSuffix(l, want[i]) {
			t.Errorf("got  %s\nwant %s", l, want[i])
		}
		if entry.Time.Before(began.Add(-time.Second)) || entry.Time.After(time.Now().Add(time.Second)) {
			t.Errorf("%#x was at %v", entry.Zxid, entry.Time)
		}
	}

	later := commits(t, e, got[3].Zxid)
	if !slices.EqualFunc(later, got[4:], func(a, b txnlog.Entry) bool { return line(a) == line(b) }) {
		t.Errorf("got %d entries after %#x, want %d", len(later), got[3].Zxid, len(got)-4)
	}
	others := *e
	others.Members = append(slices.Clone(e.Members), &ensembles.Member{Name: "zk4", Addr: "127.0.0.1:1", Observer: true})
	if all := commits(t, &others, 0); len(all) != len(got) {
		t.Errorf("where an observer's log cannot be had: %d entries, want %d", len(all), len(got))
	}
	others.Members = []*ensembles.Member{{Name: "zk1", Addr: leader.Addr}}
	if _, err = ensembles.Commits(t.Context(), &others, 0, nil); !errors.Is(err, ensembles.ErrNotOurs) {
		t.Errorf("an ensemble of somebody else: %v", err)
	}
	t.Run("over three leaders, and a member that was away", func(t *testing.T) { testLeaders(t, e, got) })
}

// testLeaders kills each leader in turn while a client creates nodes.
func testLeaders(t *testing.T, e *ensembles.Ensemble, before []txnlog.Entry) {
	const rounds, nodes = 3, 20
	for round := range rounds {
		leader, err := ensembles.Leader(t.Context(), e)
		check.OK(t, err)
		c := dial(t, leader.Addr, 4*time.Second)
		for i := range nodes {
			c.Do(create, fmt.Sprintf("/r%d-%d", round, i), "", anyone, persistent)
		}
		c.Do(closeSession)
		check.OK(t, leader.Machine.Kill(t.Context()))
		check.Eventually(t, "another member leads", func() bool {
			_, err := ensembles.Leader(t.Context(), e)
			return err == nil
		})
		if round < rounds-1 { // the last one stays away: its log is read all the same
			check.OK(t, leader.Machine.Start(t.Context()))
			check.OK(t, ensembles.WaitServing(check.Within(t, 30*time.Second), e))
		}
	}
	got := commits(t, e, 0)
	created := 0
	for _, entry := range got {
		if strings.HasPrefix(entry.Path, "/r") {
			created++
		}
	}
	if created != rounds*nodes || len(got) != len(before)+rounds*(nodes+2) {
		t.Errorf("%d nodes created in %d entries", created, len(got))
	}
}
