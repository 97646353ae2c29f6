package verdict

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

func TestFIFO(t *testing.T) {
	judgeStories(t, FIFO, []row{
		{"grants in the order of their nodes are fair", "hold 1 5 10 20; acquire 2 6 0 25", Pass, ""},
		{"an older node that is let in later was overtaken",
			"hold 2 6 10 20; hold 1 5 25 30",
			Fail, "client 1 was granted token 5 at 25ms (record 3), although client 2 with the newer token 6"},
		{"the order of calls does not matter", "acquire 1 5 9 10; release 1 5 20; acquire 2 6 0 25", Pass, ""},
		{"the order of the records does not matter", "acquire 2 6 0 25; hold 1 5 10 20", Pass, ""},
		{"an abandoned node does not count", "acquire 1 5 0 30 failed; hold 2 6 10 20; acquire 3 7 0 25", Pass, ""},
		{"a late grant of a session that was dying does not count",
			"opened 1 101; hold 2 6 10 20; acquire 1 5 0 25; session lost 1 30; acquire 3 7 0 35",
			Pass, "1 late grants of ending sessions"},
		{"a late grant of a client that a fault had affected does not count",
			"opened 1 101; hold 2 6 10 20; fault freeze 1 5 15; hold 1 5 25 30",
			Pass, "1 late grants of ending sessions"},
		{"a fault after the grant is no excuse",
			"opened 1 101; hold 2 6 10 20; acquire 1 5 0 25; fault flap 1 27 28; release 1 5 30",
			Fail, "client 1 was granted token 5"},
		{"a fault that was over long before is no excuse",
			"opened 1 101; fault flap 1 1 2; hold 2 6 20000 20010; acquire 1 5 19990 20025; release 1 5 20030",
			Fail, "client 1 was granted token 5"},
		{"who resumes an old grant overtakes nobody",
			"opened 1 101; acquire 1 5 0 10; session suspended 1 15; hold 2 6 20 25; session restored 1 30; " +
				"release 1 5 40", Pass, ""},
		{"one grant has no order", "acquire 1 5 0 10", Unknown, "a comparison needs two"},
	})
}

// By the commits, the order is that of the nodes, whatever the tokens and names say; a node
// that went with its session overtakes nobody, and a fault excuses nothing else.
func TestFIFO_isJudgedByTheCommits(t *testing.T) {
	hit := &history.Window{Fault: "session.flap", Client: 2, Start: 0, End: 9 * second, Proof: "seen"}
	held := func(client int, czxid, at int64) []history.Record {
		return list{acquired(client, czxid, at, seconds(at)), deleted(int64(100+client), czxid, at+1),
			released(client, czxid, at+1, seconds(at+1))}
	}
	begin := join(bothOpened, list{created(101, 10), created(102, 11)})
	mistaken := held(1, 10, 12)
	mistaken[0].(*history.Sample).Token = 99
	judgeRecords(t, FIFO, fair, begin, []recordRow{
		{"in the order of the nodes", join(held(1, 10, 12), held(2, 11, 14)), Pass, ""},
		{"in another order", join(held(2, 11, 12), held(1, 10, 14)), Fail, "client 1 was granted token 10"},
		{"a fault is no excuse", join(list{hit}, held(2, 11, 12), held(1, 10, 14)), Fail, "client 1 was granted token 10"},
		{"a token that is none changes nothing", join(mistaken, held(2, 11, 14)), Pass, ""},
		{"a grant whose node went with its session", join(held(2, 11, 12),
			list{sessionGone(101, 13, 10), acquired(1, 10, 14, seconds(14)), released(1, 10, 15, seconds(15))}), Pass, "1 late grants"},
	})
}

// Where commits are missing, so may be the end of a session, or a node.
func TestFIFO_whereCommitsAreMissing(t *testing.T) {
	at := func(op string, client int, czxid, zxid int64, seconds time.Duration) history.Record {
		return operation(op, client, czxid, zxid, seconds*second)
	}
	start := list{opened(1, 101), opened(2, 102), created(101, 10), created(102, 11)}
	overtaken := list{at(history.Acquire, 2, 11, 13, 12), deleted(102, 11, 14), at(history.Release, 2, 11, 14, 13),
		at(history.Acquire, 1, 10, 11, 14), at(history.Release, 1, 10, 11, 15)}
	inOrder := list{at(history.Acquire, 1, 10, 11, 12), deleted(101, 10, 13), at(history.Release, 1, 10, 13, 13),
		at(history.Acquire, 2, 11, 13, 14), deleted(102, 11, 15), at(history.Release, 2, 11, 15, 15)}
	unseen := list{at(history.Acquire, 1, 31, 40, 20), at(history.Release, 1, 31, 40, 21)}
	unread := &history.CommitsEnd{Last: 16, Err: "no leader"}
	judgeOne(t, FIFO, join(start, overtaken, list{whole()}), Fail, "although client 2 with the newer token 11")
	judgeOne(t, FIFO, join(start, overtaken, list{withGap()}), Unknown, "gaps in the commits")
	judgeOne(t, FIFO, join(start, inOrder, list{withGap()}), Pass, "")
	judgeOne(t, FIFO, join(start, inOrder, unseen, list{unread}), Unknown, "the commits do not contain the node of 1 grant")
}

func claimOf(s *history.Sample, path string, token int64) *history.Sample {
	s.Path, s.Token = path, token
	return s
}

func named(c *history.Commit, path string) *history.Commit {
	c.Path = path
	return c
}

// Nodes that are created at the grant say nothing about who waited longer, unless their clients waited with others.
func TestFIFO_ofNodesThatAreCreatedAtTheGrant(t *testing.T) {
	grants := func(waits bool) (records []history.Record) {
		records = list{opened(1, 101), opened(2, 102)}
		for i := range int64(12) {
			client, zxid := int(1+i%2), 10+2*i
			node, gone := created(int64(100+client), zxid), deleted(int64(100+client), zxid, zxid+1)
			if waits { // the next node exists when this one is deleted
				gone.Zxid = zxid + 3
			}
			grant := acquired(client, zxid, zxid+3, seconds(10+i))
			grant.Call -= 5 * second // it waited while the other held
			records = append(records, node, grant, gone, released(client, zxid, zxid+3, seconds(11+i)))
		}
		return append(records, whole())
	}
	judgeOne(t, FIFO, grants(false), Unknown, "nodes are created at the grant")
	// The leader of an election creates a node of its own at the grant, and waited as a candidate.
	candidates := func(first, second int64) (records []history.Record) {
		session := func(i int64) int64 { return 101 + i%2 }
		records = list{opened(1, 101), opened(2, 102)}
		if second < first {
			records = append(records, created(session(1), second))
		}
		records = append(records, created(session(0), first))
		candidate := first
		for i := range int64(12) {
			leader, zxid, next := "/l/leader", 10*i+20, 10*i+15
			if i == 0 && second < first {
				next = second
			} else {
				records = append(records, created(session(i+1), next))
			}
			grant := claimOf(acquired(int(1+i%2), zxid, zxid, seconds(10+i)), leader, zxid)
			grant.Call -= 5 * time.Second
			records = append(records, named(created(session(i), zxid), leader), grant,
				deleted(session(i), candidate, zxid+3), named(deleted(session(i), zxid, zxid+4), leader),
				claimOf(released(int(1+i%2), zxid, zxid+4, seconds(11+i)), leader, zxid))
			candidate = next
		}
		return append(records, &history.CommitsEnd{Last: 999})
	}
	judgeOne(t, FIFO, candidates(5, 15), Pass, "the order is that of the nodes with which their clients waited")
	judgeOne(t, FIFO, candidates(5, 4), Unknown, "1 grant did not follow the order of those nodes")
	promoted := history.Header{Trial: "t", Recipe: facts.RWLock, Promises: fair} // its order is not that of one holder after the other
	judgeHeader(t, promoted, FIFO, candidates(5, 15), Unknown, "and 0 grants did not follow the order of those nodes")
	judgeHeader(t, promoted, FIFO, candidates(5, 4), Unknown, "1 grant did not follow the order of those nodes")
	judgeOne(t, FIFO, grants(true), Pass, "")
}

// Without exclusion several may hold at once: an older node may wait for another reason.
func TestFIFO_ofASubjectWithoutExclusion(t *testing.T) {
	records := list{opened(1, 101), opened(2, 102), created(101, 10), created(102, 11),
		acquired(2, 11, 11, second), acquired(1, 10, 11, 2*second), whole()}
	judgeFor(t, history.Promises{FIFO: true}, FIFO, records, Unknown, "does not promise exclusion")
	judgeFor(t, history.Promises{FIFO: true}, ClaimValidity, records, Pass, "all 2 grants")
	judgeOne(t, FIFO, records, Fail, "client 1 was granted token 10")
}

func TestClaimValidity_isJudgedByTheCommits(t *testing.T) {
	granted := func(client int, czxid, zxid int64) *history.Sample { return acquired(client, czxid, zxid, second) }
	notified := func(s *history.Sample, removed int64) *history.Sample {
		s.Removed = nodeOf(removed)
		return s
	}
	judgeRecords(t, ClaimValidity, fair, bothOpened, []recordRow{
		{"the first in line", list{created(101, 10), granted(1, 10, 10)}, Pass, "all 1 grants were found"},
		{"the one ahead has gone, and the client has seen a later reply",
			list{created(102, 9), created(101, 10), deleted(102, 9, 12), granted(1, 10, 12)}, Pass, ""},
		{"the one ahead has gone, and the client was notified of that",
			list{created(102, 9), created(101, 10), deleted(102, 9, 12), notified(granted(1, 10, 10), 9)}, Pass, ""},
		{"the one ahead has gone, and the client could not know",
			list{created(102, 9), created(101, 10), deleted(102, 9, 12), granted(1, 10, 11)}, Fail, "/l/n-0000000009 (czxid 0x9) existed all the time"},
		{"notified of one, while another is ahead",
			list{created(102, 8), created(102, 9), created(101, 10), deleted(102, 9, 12), notified(granted(1, 10, 10), 9)}, Fail, "/l/n-0000000008"},
		{"it was the first before its session ended",
			list{created(102, 9), created(101, 10), deleted(102, 9, 12), sessionGone(101, 13, 10), granted(1, 10, 14)}, Pass, ""},
		{"its session ended before the one ahead went",
			list{created(102, 9), created(101, 10), sessionGone(101, 11, 10), deleted(102, 9, 12), granted(1, 10, 14)}, Fail, "czxid 0x9) existed all the time"},
		{"another session's node", list{created(102, 10), granted(1, 10, 10)}, Fail, "session 0x66 created the granted node"},
		{"a node that was never created", list{created(101, 9), granted(1, 10, 10)}, Fail, "no transaction created the granted node"},
		{"a persistent node", list{&history.Commit{Op: history.CommitCreate, Session: 101, Zxid: 10, Cxid: 1, Path: nodeOf(10)}, granted(1, 10, 10)}, Fail,
			"the granted node is persistent (created in transaction 0xa)"},
		{"a claim that names no node, of a session with nodes in two folders",
			list{created(101, 10), named(created(101, 11), "/l/leader"), claimOf(granted(1, 11, 11), "", 0)}, Unknown, "which nodes 1 of 1 grants"},
		{"a node that may stand in a gap", list{granted(1, 10, 10), withGap()}, Unknown, "gaps in the commits"},
		{"one ahead whose removal may stand in a gap",
			list{created(102, 9), created(101, 10), granted(1, 10, 12), withGap()}, Unknown, "gaps in the commits"},
		{"another session's node, whatever stands in a gap",
			list{created(102, 10), granted(1, 10, 10), withGap()}, Fail, "session 0x66 created the granted node"},
		{"a token that is not its node's", list{created(101, 10), claimOf(granted(1, 10, 10), nodeOf(10), 11)}, Fail, "the node's czxid is 0xa"},
		{"a claim that names no node is by the session's newest", list{created(101, 10), claimOf(granted(1, 10, 10), "", 0)}, Pass, "all 1 grants"},
		{"a claim that names no node, of a session that has none", list{created(102, 10), claimOf(granted(1, 10, 10), "", 0)}, Fail,
			"client 1 was granted no token and no node (the client reported neither, and its traffic does not identify a node) of session 0x65, having seen no commit after 0xa (record 3), but the session of the grant had no node"},
		{"a claim of a node that is not there, and has no token", list{created(101, 10), claimOf(granted(1, 10, 10), "/l/none", 0)}, Fail,
			"client 1 was granted no token with node /l/none of session 0x65"},
		{"a claim that names no node, of a session that has two of one transaction",
			list{created(101, 10), named(created(101, 10), "/l/m-0000000011"), claimOf(granted(1, 10, 10), "", 0)}, Unknown, "which nodes 1 of 1 grants"},
		{"a client that had received no reply, and never created a node", list{created(102, 9), granted(1, 10, 0), granted(2, 9, 9)}, Fail,
			"having seen no commit after 0x0 (record 3), but its client had not received any reply, and its session had not created the node"},
		{"a client that had received no reply, and created a node only afterwards",
			list{claimOf(granted(1, 10, 0), "", 0), created(101, 10), claimOf(granted(1, 10, 10), "", 0)}, Fail, "having seen no commit after 0x0 (record 3)"},
		{"a client of which the wire tells nothing, and whose claim names no node", list{created(101, 10), claimOf(granted(1, 10, 0), "", 0)}, Unknown, "which nodes 1 of 1 grants"},
		{"a client that had received no reply, and whose node may stand in a gap", list{granted(1, 10, 0), withGap()}, Unknown, "gaps in the commits"},
		{"a client of which the wire tells nothing", list{created(101, 10), granted(1, 10, 0)}, Unknown, "which nodes 1 of 1 grants"},
		{"an older node of another kind does not contend",
			list{named(created(102, 9), "/l/read-0000000009"), created(101, 10), granted(1, 10, 10)}, Pass, ""},
		{"nor do nodes with words of their own before the number", list{named(created(102, 9), "/l/alice0000000009"), named(created(101, 10), "/l/beef70000000010"),
			claimOf(granted(1, 10, 10), "/l/beef70000000010", 10)}, Pass, ""},
		{"which is unknown if one of them is granted as well", list{named(created(102, 9), "/l/alice0000000009"), named(created(101, 10), "/l/beef70000000010"),
			claimOf(granted(1, 10, 10), "/l/beef70000000010", 10), claimOf(granted(2, 9, 10), "/l/alice0000000009", 9)}, Unknown, "their names do not show whether they are claims on the same lock"},
		{"nor does one without a number", list{named(created(102, 9), "/l/host-b"), created(101, 10), granted(1, 10, 10)}, Pass, ""},
		{"nodes of one kind, whatever ids were drawn for them",
			list{named(created(102, 9), "/l/_c_0a1b2c3d-1111-2222-3333-0123456789ab-lock-0000000009"),
				named(created(101, 10), "/l/_c_ffffffff-4444-5555-6666-ba9876543210-lock-0000000010"),
				claimOf(granted(1, 10, 10), "/l/_c_ffffffff-4444-5555-6666-ba9876543210-lock-0000000010", 10)}, Fail, "czxid 0x9) existed all the time"},
		{"a fixed name that somebody else has taken since",
			list{named(created(101, 10), "/l/lock"), &history.Commit{Op: history.CommitDelete, Session: 101, Zxid: 11, Cxid: 2, Path: "/l/lock"}, named(created(102, 12), "/l/lock"),
				claimOf(granted(2, 12, 12), "/l/lock", 12), claimOf(granted(1, 10, 10), "/l/lock", 10)}, Pass, "all 2 grants"},
		{"commits that could not be read", list{created(101, 10), granted(1, 10, 10), &history.CommitsEnd{Err: "no leader"}}, Unknown, "no leader"},
	})
}

// Who does not promise an order need not be the first of a line.
func TestClaimValidity_ofALockWithoutAnOrder(t *testing.T) {
	records := list{opened(1, 101), created(102, 9), created(101, 10), acquired(1, 10, 10, second), whole()}
	judgeFor(t, unfair, ClaimValidity, records, Pass, "all 1 grants")
	judgeFor(t, fair, ClaimValidity, records, Fail, "czxid 0x9) existed all the time")
}

// What is not understood, or no longer remembered, speaks against nobody.
func TestClaimValidity_whereANodeMayHaveBeenSeen(t *testing.T) {
	judgeOne(t, ClaimValidity, list{opened(1, 101), acquired(1, 10, 10, second), &history.CommitsEnd{Last: 99, Unknown: 1}},
		Unknown, "some commits have an unknown transaction type")
	r, z := list{opened(1, 101), opened(2, 102), created(101, 10), sessionGone(101, 11, 10)}, int64(12)
	for range 2 * facts.RemovedLimit {
		r = append(r, created(102, z), deleted(102, z, z+1))
		z += 2
	}
	r = append(r, released(2, z-2, z-1, 2*second), acquired(1, 10, 10, 3*second), released(1, 10, 10, 4*second), whole())
	judgeOne(t, ClaimValidity, r, Unknown, "do not show which nodes 1 of 1 grants claim")
	younger := join(r[:len(r)-1], list{acquired(1, z+5, z+5, 5*second), released(1, z+5, z+5, 6*second), whole()})
	judgeOne(t, ClaimValidity, younger, Fail, "no transaction created the granted node")
}
