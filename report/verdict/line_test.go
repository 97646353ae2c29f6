package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const second = time.Second

// nodeOf is the path of the node that a transaction created.
func nodeOf(czxid int64) string { return fmt.Sprintf("/l/n-%010d", czxid) }

func opened(client int, session int64) *history.Session {
	return &history.Session{Event: history.Opened, Client: client, Session: session, Timeout: 4 * second}
}

func created(session, zxid int64) *history.Commit {
	return &history.Commit{Op: history.CommitCreate, Session: session, Zxid: zxid, Cxid: 1, Path: nodeOf(zxid), Ephemeral: true}
}

func deleted(session, czxid, zxid int64) *history.Commit {
	return &history.Commit{Op: history.CommitDelete, Session: session, Zxid: zxid, Cxid: 2, Path: nodeOf(czxid)}
}

func sessionGone(session, zxid int64, czxids ...int64) *history.Commit {
	c := &history.Commit{Op: history.CommitClose, Session: session, Zxid: zxid}
	for _, k := range czxids {
		c.Removed = append(c.Removed, nodeOf(k))
	}
	return c
}

// operation is one that took a millisecond before at, of the client whose session is 100
// more than its number.
func operation(op string, client int, czxid, zxid int64, at time.Duration) *history.Sample {
	return &history.Sample{Op: op, Outcome: history.OK, Client: client, Session: int64(100 + client), Token: czxid, Path: nodeOf(czxid),
		Zxid: zxid, Call: at - time.Millisecond, Due: at - time.Millisecond, Return: at}
}

func whole() *history.CommitsEnd { return &history.CommitsEnd{Last: 99} }

func withGap() *history.CommitsEnd {
	return &history.CommitsEnd{Last: 99, Gaps: []history.ZxidGap{{From: 3, To: 20}}}
}

// What a lock promises: to be fair, or not.
var (
	fair   = history.Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}
	unfair = history.Promises{Exclusive: true, Deadline: true, Events: true}
)

func seconds(n int64) time.Duration { return time.Duration(n) * second }

func join(parts ...[]history.Record) []history.Record { return slices.Concat(parts...) }

func judgeOne(t *testing.T, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	judgeFor(t, fair, guarantee, records, result, reason)
}

// judgeFor judges a lock that makes these promises.
func judgeFor(t *testing.T, promises history.Promises, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	judgeHeader(t, history.Header{Trial: "t", Recipe: Lock, Promises: promises}, guarantee, records, result, reason)
}

func judgeHeader(t *testing.T, header history.Header, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	for _, v := range Judge(history.Of(header, records...)) {
		if v.Guarantee != guarantee {
			continue
		}
		if why := strings.Join(v.Reasons, "\n"); v.Result != result || !strings.Contains(why, reason) {
			t.Errorf("%s %q, want %s with %q", v.Result, why, result, reason)
		}
		if v.Result == Fail && len(v.Records) == 0 {
			t.Error("a failure without a record that proves it")
		}
		return
	}
	t.Errorf("%s is not judged", guarantee)
}

// A line whose first node stands for ever keeps no more than those that stand, and as many.
func TestLine_forgetsWhoHasGone(t *testing.T) {
	l := newLine(&history.History{})
	l.record(created(1, 1))
	for z := int64(2); z < 100_000; z += 2 {
		l.record(created(2, z))
		l.record(deleted(2, z, z+1))
	}
	d := l.dirs["/l"]
	if len(d.standing) > 4 || len(d.removed) > 2*remember || len(l.nodes) > 2*remember+1 {
		t.Errorf("%d stand, %d are remembered, %d by name", len(d.standing), len(d.removed), len(l.nodes))
	}
}

// A name that is used again and again is not remembered for ever.
func TestLine_forgetsOldNodesOfOneName(t *testing.T) {
	l := newLine(&history.History{})
	for z := int64(2); z < 100_000; z += 2 {
		c, d := created(2, z), deleted(2, z, z+1)
		c.Path, d.Path = "/l/lock", "/l/lock"
		l.record(c)
		l.record(d)
	}
	kept := 0
	for n := l.nodes["/l/lock"]; n != nil; n = n.before {
		kept++
	}
	if kept > 2*remember || l.find("/l/lock", 99_998-2) == nil {
		t.Errorf("%d nodes are remembered", kept)
	}
}

func TestNode_sequential(t *testing.T) {
	for path, want := range map[string]bool{
		"/l/n-0000000000": true, "/l/n--000000001": true, "/l/n-2147483647": true, "/l/lock": false, "/l/n-00000000": false, "/l/n-000000000x": false,
	} {
		if got := (&node{path: path}).sequential(); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// Nodes of one recipe are of one kind, whatever ids it draws; those that do not contend are not.
func TestKind(t *testing.T) {
	for _, row := range []struct {
		a, b  string
		alike bool
	}{
		{"/l/_c_e4bfd934-5fb0-4ce7-9fca-d72367e2312c-lock-0000000291", "/l/_c_e64cf688-5e68-4756-ba98-99470205dd29-lock-0000000294", true},
		{"/l/01ARZ3NDEKTSV4RRFFQ69G5FAV-0000000001", "/l/01BX5ZZKBKACTAV9WEVGEMMVRZ-0000000002", true},
		{"/l/qwrtzpsxghjklmnvyqwrt-0000000001", "/l/zpsxghjklmnvyqwrtqwrt-0000000002", true},
		{"/l/n-2147483647", "/l/n--2147483648", true},
		{"/l/readLockNode0000000001", "/l/writeLockNode0000000002", false},
		{"/l/host-0000000001", "/l/lock-0000000002", false},
	} {
		if got := kind(row.a) == kind(row.b); got != row.alike {
			t.Errorf("%s and %s: %v, %v", row.a, row.b, kind(row.a), kind(row.b))
		}
	}
}
