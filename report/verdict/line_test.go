package verdict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const second = time.Second

// nodeOf is the path of the node that a transaction created.
func nodeOf(czxid int64) string { return fmt.Sprintf("/l/n-%d", czxid) }

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

func judgeOne(t *testing.T, guarantee string, records []history.Record, result, reason string) {
	t.Helper()
	for _, v := range Judge(history.Of(history.Header{Trial: "t"}, records...)) {
		if v.Guarantee != guarantee {
			continue
		}
		if why := strings.Join(v.Reasons, "\n"); v.Result != result || !strings.Contains(why, reason) {
			t.Errorf("%s %q, want %s with %q", v.Result, why, result, reason)
		}
		return
	}
	t.Errorf("%s is not judged", guarantee)
}

func TestClaimValidity_isJudgedByTheCommits(t *testing.T) {
	acquired := func(client int, czxid, zxid int64) *history.Sample {
		return operation(history.Acquire, client, czxid, zxid, second)
	}
	notified := func(s *history.Sample, removed int64) *history.Sample {
		s.Removed = nodeOf(removed)
		return s
	}
	for _, c := range []struct {
		name           string
		records        []history.Record
		result, reason string
	}{
		{"the first in line", []history.Record{created(101, 10), acquired(1, 10, 10), whole()}, Pass, "all 1 grants were found"},
		{"the one ahead has gone, and the client has seen a later reply",
			[]history.Record{created(102, 9), created(101, 10), deleted(102, 9, 12), acquired(1, 10, 12), whole()}, Pass, ""},
		{"the one ahead has gone, and the client was notified of that",
			[]history.Record{created(102, 9), created(101, 10), deleted(102, 9, 12), notified(acquired(1, 10, 10), 9), whole()}, Pass, ""},
		{"the one ahead has gone, and the client could not know",
			[]history.Record{created(102, 9), created(101, 10), deleted(102, 9, 12), acquired(1, 10, 11), whole()}, Fail, "/l/n-9 (czxid 0x9) stood before it all the time"},
		{"notified of one, while another is ahead",
			[]history.Record{created(102, 8), created(102, 9), created(101, 10), deleted(102, 9, 12), notified(acquired(1, 10, 10), 9), whole()}, Fail, "/l/n-8"},
		{"it was the first before its session ended",
			[]history.Record{created(102, 9), created(101, 10), deleted(102, 9, 12), sessionGone(101, 13, 10), acquired(1, 10, 14), whole()}, Pass, ""},
		{"its session ended before the one ahead went",
			[]history.Record{created(102, 9), created(101, 10), sessionGone(101, 11, 10), deleted(102, 9, 12), acquired(1, 10, 14), whole()}, Fail, "stood before it"},
		{"another session's node", []history.Record{created(102, 10), acquired(1, 10, 10), whole()}, Fail, "session 0x66 created that node"},
		{"a node that was never created", []history.Record{created(101, 9), acquired(1, 10, 10), whole()}, Fail, "no transaction created that node"},
		{"a node that may stand in a gap",
			[]history.Record{acquired(1, 10, 10), withGap()}, Unknown, "gaps in the commits"},
		{"one ahead whose removal may stand in a gap",
			[]history.Record{created(102, 9), created(101, 10), acquired(1, 10, 12), withGap()}, Unknown, "gaps in the commits"},
		{"another session's node, whatever stands in a gap",
			[]history.Record{created(102, 10), acquired(1, 10, 10), withGap()}, Fail, "session 0x66 created that node"},
		{"commits that could not be read", []history.Record{created(101, 10), acquired(1, 10, 10), &history.CommitsEnd{Err: "no leader"}}, Unknown, "no leader"},
	} {
		t.Run(c.name, func(t *testing.T) {
			judgeOne(t, ClaimValidity, append([]history.Record{opened(1, 101), opened(2, 102)}, c.records...), c.result, c.reason)
		})
	}
}

func TestNoOrphan_isJudgedByTheCommits(t *testing.T) {
	released := func(client int, czxid, zxid int64, at time.Duration) *history.Sample {
		return operation(history.Release, client, czxid, zxid, at)
	}
	acquired := func(client int, czxid, zxid int64, at time.Duration) *history.Sample {
		return operation(history.Acquire, client, czxid, zxid, at)
	}
	gaveUp := func(client int, zxid int64, at time.Duration) *history.Sample {
		s := operation(history.Acquire, client, 0, zxid, at)
		s.Outcome, s.Err, s.Path, s.Session = history.Failed, "cancelled", "", 0
		return s
	}
	closed := func(client int, at time.Duration) *history.Session {
		return &history.Session{Event: history.Closed, Client: client, Session: int64(100 + client), At: at}
	}
	for _, c := range []struct {
		name           string
		records        []history.Record
		result, reason string
	}{
		{"a release that removed its node", []history.Record{created(101, 10), deleted(101, 10, 11), released(1, 10, 11, second), whole()}, Pass, "1 acquires and releases left nothing"},
		{"a release whose node stands seconds later",
			[]history.Record{created(101, 10), released(1, 10, 10, second), released(2, 9, 12, 9*second), whole()}, Fail, "after it was released, with success"},
		{"a release whose node may have gone in a gap",
			[]history.Record{created(101, 10), released(1, 10, 10, second), released(2, 9, 12, 9*second), withGap()}, Unknown, "gaps in the commits"},
		{"a release whose node goes a moment later",
			[]history.Record{created(101, 10), released(1, 10, 10, second), deleted(101, 10, 11), released(2, 9, 12, 9*second), whole()}, Pass, ""},
		{"an acquire that gave up, and its node goes in the background",
			[]history.Record{created(101, 10), gaveUp(1, 10, second), deleted(101, 10, 11), released(2, 9, 12, 9*second), whole()}, Pass, ""},
		{"an acquire that gave up, and the next one takes its node over",
			[]history.Record{created(101, 10), gaveUp(1, 10, second), acquired(1, 10, 11, 9*second), deleted(101, 10, 12), released(1, 10, 12, 10*second), whole()}, Pass, ""},
		{"an acquire that gave up, and the client stands in line behind its own node",
			[]history.Record{created(101, 10), gaveUp(1, 10, second), created(101, 11), released(2, 9, 12, 9*second), whole()}, Fail, "its acquire had ended without a grant"},
		{"a node that stands until its session ends, seconds later",
			[]history.Record{created(101, 10), gaveUp(1, 10, second), sessionGone(101, 20, 10), closed(1, 9*second), whole()}, Fail, "while its session 0x65 lived"},
		{"a node that stands until its session ends at once",
			[]history.Record{created(101, 10), gaveUp(1, 10, second), sessionGone(101, 20, 10), closed(1, 2*second), whole()}, Pass, ""},
		{"a fault keeps the client from removing its node",
			[]history.Record{&history.Window{Fault: "session.flap", Client: 1, Start: second / 2, End: 9 * second, Proof: "seen"},
				created(101, 10), gaveUp(1, 10, second), sessionGone(101, 20, 10), closed(1, 9*second), whole()}, Pass, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			judgeOne(t, NoOrphan, append([]history.Record{opened(1, 101), opened(2, 102)}, c.records...), c.result, c.reason)
		})
	}
}
