package verdict

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestNoOrphan_isJudgedByTheCommits(t *testing.T) {
	gaveUp := func(client int, zxid int64, at time.Duration) *history.Sample {
		s := acquired(client, 0, zxid, at)
		s.Outcome, s.Err, s.Path, s.Session = history.Failed, "cancelled", "", 0
		return s
	}
	timedOut := func(client int, zxid int64, at time.Duration) *history.Sample {
		s := gaveUp(client, zxid, at)
		s.TimedOut = true
		return s
	}
	canceled := func(client int, zxid int64, at time.Duration) *history.Sample {
		s := gaveUp(client, zxid, at)
		s.Canceled = true
		return s
	}
	elsewhere := func(c *history.Commit) *history.Commit {
		c.Path = "/l/2/n-0000000001"
		return c
	}
	closed := func(client int, at time.Duration) *history.Session {
		return &history.Session{Event: history.Closed, Client: client, Session: int64(100 + client), At: at}
	}
	unknownly := func(s *history.Sample) *history.Sample {
		s.Outcome = history.Unknown
		return s
	}
	presence := func(c *history.Commit) *history.Commit {
		c.Path = "/l/host-0000000001"
		return c
	}
	judgeRecords(t, NoOrphan, fair, bothOpened, []recordRow{
		{"a release that removed its node", list{created(101, 10), deleted(101, 10, 11), released(1, 10, 11, second)}, Pass, "1 acquires and releases left nothing"},
		{"a release whose node stands seconds later",
			list{created(101, 10), released(1, 10, 10, second), released(2, 9, 12, 9*second)}, Fail, "after it was released successfully"},
		{"a release whose node may have gone in a gap",
			list{created(101, 10), released(1, 10, 10, second), released(2, 9, 12, 9*second), withGap()}, Unknown, "gaps in the commits"},
		{"a release whose node goes a moment later",
			list{created(101, 10), released(1, 10, 10, second), deleted(101, 10, 11), released(2, 9, 12, 9*second)}, Pass, ""},
		{"an acquire that gave up, and its node goes in the background",
			list{created(101, 10), gaveUp(1, 10, second), deleted(101, 10, 11), released(2, 9, 12, 9*second)}, Pass, ""},
		{"an acquire that gave up, and the next one takes its node over",
			list{created(101, 10), gaveUp(1, 10, second), acquired(1, 10, 11, 9*second), deleted(101, 10, 12), released(1, 10, 12, 10*second)}, Pass, ""},
		{"an acquire that reached its limit, and the next one takes its node over seconds later",
			list{created(101, 10), &history.Window{Fault: "timeout", Client: 1, Start: second / 2, End: second, Proof: "seen"}, timedOut(1, 10, second), acquired(1, 10, 11, 6*second), deleted(101, 10, 12), released(1, 10, 12, 10*second)}, Fail, "its acquire had ended without a grant"},
		{"a canceled acquire, and the next one takes its node over seconds later",
			list{created(101, 10), canceled(1, 10, second), acquired(1, 10, 11, 9*second), deleted(101, 10, 12), released(1, 10, 12, 10*second)}, Fail, "its acquire had ended without a grant"},
		{"a canceled acquire whose node is taken over at once",
			list{created(101, 10), canceled(1, 10, second), acquired(1, 10, 11, 2*second), deleted(101, 10, 12), released(1, 10, 12, 10*second)}, Pass, ""},
		{"a client that holds in one line and waits in another one, whose names differ in a number",
			list{elsewhere(created(101, 8)), created(101, 10), acquired(1, 10, 10, second), released(2, 9, 12, 9*second)}, Pass, ""},
		{"an acquire that gave up, and the client stands in line behind its own node",
			list{created(101, 10), gaveUp(1, 10, second), created(101, 11), released(2, 9, 12, 9*second)}, Fail, "its acquire had ended without a grant"},
		{"a node that stands until its session ends, seconds later",
			list{created(101, 10), gaveUp(1, 10, second), closing(101, 20, 10), closed(1, 9*second)}, Fail, "its session 0x65 was alive:"},
		{"a node that stands until its session ends at once",
			list{created(101, 10), gaveUp(1, 10, second), closing(101, 20, 10), closed(1, 2*second)}, Pass, ""},
		{"an acquire whose outcome is unknown, and its node stands on",
			list{created(101, 10), unknownly(gaveUp(1, 10, second)), closing(101, 20, 10), closed(1, 9*second)}, Fail, "its acquire had ended without a grant"},
		{"an acquire whose outcome is unknown, and its node goes within a session timeout",
			list{created(101, 10), unknownly(gaveUp(1, 10, second)), closing(101, 20, 10), closed(1, 4*second)}, Pass, ""},
		{"a node of which its client never heard, and which shows only later",
			list{replyLost(second / 2), gaveUp(1, 0, second), created(101, 10), released(2, 9, 12, 2*second), closing(101, 20, 10), closed(1, 9*second)}, Fail, "its acquire had ended without a grant"},
		{"one that the next acquire takes over",
			list{replyLost(second / 2), gaveUp(1, 0, second), created(101, 10), acquired(1, 10, 11, 9*second), deleted(101, 10, 12), released(1, 10, 12, 10*second)}, Pass, ""},
		{"one of an acquire that came after",
			list{replyLost(2 * second), gaveUp(1, 0, second), created(101, 10), released(2, 9, 12, 9*second), closing(101, 20, 10), closed(1, 9*second), gaveUp(1, 20, 9*second)}, Pass, ""},
		{"one of which its client has heard",
			list{gaveUp(1, 0, second), created(101, 10), released(2, 9, 12, 9*second), closing(101, 20, 10), closed(1, 9*second), gaveUp(1, 20, 9*second)}, Pass, ""},
		{"a client that waits behind its own node",
			list{acquired(2, 9, 9, 0), created(101, 10), created(101, 11), acquired(2, 8, 11, second), closing(101, 20, 10, 11), closed(1, 9*second), gaveUp(1, 12, 9*second)},
			Fail, "its client had another node in line, /l/n-0000000011"},
		{"a client whose younger node goes at once, and which waits by the older",
			list{acquired(2, 9, 9, 0), created(101, 10), created(101, 11), acquired(2, 8, 11, second), deleted(101, 11, 12), released(2, 8, 12, 2*second),
				acquired(2, 7, 13, 9*second), released(2, 7, 14, 10*second), acquired(1, 10, 15, 11*second)}, Pass, ""},
		{"a client whose younger node goes when it was granted by it",
			list{acquired(2, 9, 9, 0), created(101, 10), created(101, 11), acquired(1, 11, 11, second), deleted(101, 11, 12), released(1, 11, 12, 2*second),
				acquired(2, 7, 13, 9*second), released(2, 7, 14, 10*second)}, Fail, "node /l/n-0000000010"},
		{"a client that gave up, and leaves the older of two",
			list{acquired(2, 9, 9, 0), created(101, 10), created(101, 11), acquired(2, 8, 11, second), gaveUp(1, 12, 2*second), deleted(101, 11, 12), released(2, 8, 12, 2*second),
				acquired(2, 7, 13, 9*second), released(2, 7, 14, 10*second)}, Fail, "node /l/n-0000000010"},
		{"a client that is granted by one of its two nodes",
			list{created(101, 10), created(101, 11), deleted(101, 11, 20), acquired(1, 10, 11, second), deleted(101, 10, 21), released(1, 10, 21, 9*second)}, Pass, ""},
		{"and the other stands on",
			list{created(101, 10), created(101, 11), acquired(1, 10, 11, second), closing(101, 21, 10, 11), closed(1, 9*second)}, Fail, "node /l/n-0000000011"},
		{"a node that goes when the servers let its session expire: its client was not to be heard of",
			list{created(101, 10), gaveUp(1, 10, second), sessionGone(101, 20, 10), closed(1, 9*second)}, Pass, ""},
		{"a node that says that its client is there is in no line",
			list{presence(created(101, 8)), created(101, 10), acquired(1, 10, 10, second), deleted(101, 10, 11), released(1, 10, 11, second), gaveUp(1, 12, second),
				closed(1, 9*second)}, Pass, ""},
		{"a node in line whose name has a short random ID", renamed(list{created(101, 8), created(102, 10), acquired(2, 10, 10, second),
			gaveUp(1, 10, second), deleted(102, 10, 11), released(2, 10, 11, 9*second), closing(101, 20, 8), closed(1, 9*second)}, withShortID), Fail, "q9zTab-lease-0000000008"},
		{"that it stands is not seen by who has committed nothing",
			list{created(101, 10), gaveUp(1, 10, second), gaveUp(2, 10, 9*second), deleted(101, 10, 11), released(2, 9, 12, 9*second)}, Pass, ""},
		{"a fault keeps the client from removing its node",
			list{&history.Window{Fault: "session.flap", Client: 1, Start: second / 2, End: 9 * second, Proof: "seen"},
				created(101, 10), gaveUp(1, 10, second), closing(101, 20, 10), closed(1, 9*second)}, Pass, ""},
	})
}

// A client that stands in line again by itself leaves no orphan, unless it has two nodes.
func TestNoOrphan_ofASubjectThatRequeues(t *testing.T) {
	requeues := fair
	requeues.Requeues = true
	begin := list{opened(1, 101), created(101, 10), acquired(1, 10, 10, second), deleted(101, 10, 11), created(101, 12)}
	end := list{released(1, 10, 13, second), closing(101, 20, 12, 13),
		&history.Session{Event: history.Closed, Client: 1, Session: 101, At: 9 * second}, whole()}
	judgeFor(t, requeues, NoOrphan, join(begin, end), Pass, "no client had two nodes in line for long; clients rejoin by themselves, so a single node is not an orphan")
	judgeFor(t, requeues, NoOrphan, join(begin, list{created(101, 13)}, end), Fail, "node /l/n-0000000012")
	seen := &history.Snapshot{Asked: 2 * second, At: 3 * second, Nodes: []history.SnapshotNode{{Client: 1, Session: 101, Token: 12, Path: "/l/n-0000000012"}}}
	judgeFor(t, requeues, NoOrphan, join(begin, list{end[0], seen}, end[1:]), Pass, "no client had two nodes in line for long; clients rejoin by themselves, so a single node is not an orphan")
}

// replyLost is what client 1 never heard of its create, which may be any of the requests that make nodes.
func replyLost(sent time.Duration) *history.LostReply {
	return &history.LostReply{At: sent, Client: 1, Session: 101, Cxid: 1, Request: "create2", Sent: sent}
}

// closing is the commit by which a client has closed its session.
func closing(session, zxid int64, removed ...int64) *history.Commit {
	c := sessionGone(session, zxid, removed...)
	c.Cxid = 99
	return c
}
