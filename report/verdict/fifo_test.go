package verdict

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

func TestFIFO(t *testing.T) {
	judgeStories(t, FIFO, []row{
		{"grants in the order of their nodes are fair", `
			acquire 1 5 0 10
			release 1 5 20 21
			acquire 2 6 0 25`, Pass, ""},
		{"an older node that is let in later was overtaken", `
			acquire 2 6 0 10
			release 2 6 20 21
			acquire 1 5 0 25
			release 1 5 30 31`, Fail, "client 1 was granted token 5 at 25ms (record 3), although client 2 with the newer token 6"},
		{"the order of calls does not matter", `
			acquire 1 5 9 10
			release 1 5 20 21
			acquire 2 6 0 25`, Pass, ""},
		{"the order of the records does not matter", `
			acquire 2 6 0 25
			acquire 1 5 0 10
			release 1 5 20 21`, Pass, ""},
		{"an abandoned node does not count", `
			acquire 1 5 0 30 failed
			acquire 2 6 0 10
			release 2 6 20 21
			acquire 3 7 0 25`, Pass, ""},
		{"a late grant of a session that was dying does not count", `
			opened 1 101
			acquire 2 6 0 10
			release 2 6 20 21
			acquire 1 5 0 25
			session lost 1 30
			acquire 3 7 0 35`, Pass, "1 late grants of dying sessions"},
		{"a late grant of a client that a fault had hit does not count", `
			opened 1 101
			acquire 2 6 0 10
			release 2 6 20 21
			fault freeze 1 5 15
			acquire 1 5 0 25
			release 1 5 30 31`, Pass, "1 late grants of dying sessions"},
		{"a fault after the grant is no excuse", `
			opened 1 101
			acquire 2 6 0 10
			release 2 6 20 21
			acquire 1 5 0 25
			fault flap 1 27 28
			release 1 5 30 31`, Fail, "client 1 was granted token 5"},
		{"a fault that was over long before is no excuse", `
			opened 1 101
			fault flap 1 1 2
			acquire 2 6 0 20000
			release 2 6 20010 20011
			acquire 1 5 19990 20025
			release 1 5 20030 20031`, Fail, "client 1 was granted token 5"},
		{"who resumes an old grant overtakes nobody", `
			opened 1 101
			acquire 1 5 0 10
			session suspended 1 15
			acquire 2 6 0 20
			release 2 6 25 26
			session restored 1 30
			release 1 5 40 41`, Pass, ""},
		{"one grant has no order", "acquire 1 5 0 10", Unknown, "an order needs two"},
	})
}

// By the commits, the order is that of the nodes, whatever the tokens and names say; a node
// that went with its session overtakes nobody, and a fault excuses nothing else.
func TestFIFO_isJudgedByTheCommits(t *testing.T) {
	hit := &history.Window{Fault: "session.flap", Client: 2, Start: 0, End: 9 * second, Proof: "seen"}
	held := func(client int, czxid, at int64) []history.Record {
		return []history.Record{operation(history.Acquire, client, czxid, at, seconds(at)), deleted(int64(100+client), czxid, at+1),
			operation(history.Release, client, czxid, at+1, seconds(at+1))}
	}
	begin := []history.Record{opened(1, 101), opened(2, 102), created(101, 10), created(102, 11)}
	mistaken := held(1, 10, 12)
	mistaken[0].(*history.Sample).Token = 99
	for _, c := range []struct {
		name           string
		records        []history.Record
		result, reason string
	}{
		{"in the order of the nodes", join(held(1, 10, 12), held(2, 11, 14)), Pass, ""},
		{"in another order", join(held(2, 11, 12), held(1, 10, 14)), Fail, "client 1 was granted token 10"},
		{"a fault is no excuse", join([]history.Record{hit}, held(2, 11, 12), held(1, 10, 14)), Fail, "client 1 was granted token 10"},
		{"a token that is none changes nothing", join(mistaken, held(2, 11, 14)), Pass, ""},
		{"a grant whose node went with its session", join(held(2, 11, 12),
			[]history.Record{sessionGone(101, 13, 10), operation(history.Acquire, 1, 10, 14, seconds(14)), operation(history.Release, 1, 10, 15, seconds(15))}), Pass, "1 late grants"},
	} {
		t.Run(c.name, func(t *testing.T) {
			judgeOne(t, FIFO, join(begin, c.records, []history.Record{whole()}), c.result, c.reason)
		})
	}
}

// Where commits are missing, so may be the end of a session, or a node.
func TestFIFO_whereCommitsAreMissing(t *testing.T) {
	at := func(op string, client int, czxid, zxid int64, seconds time.Duration) history.Record {
		return operation(op, client, czxid, zxid, seconds*second)
	}
	start := []history.Record{opened(1, 101), opened(2, 102), created(101, 10), created(102, 11)}
	overtaken := []history.Record{at(history.Acquire, 2, 11, 13, 12), deleted(102, 11, 14), at(history.Release, 2, 11, 14, 13),
		at(history.Acquire, 1, 10, 11, 14), at(history.Release, 1, 10, 11, 15)}
	inOrder := []history.Record{at(history.Acquire, 1, 10, 11, 12), deleted(101, 10, 13), at(history.Release, 1, 10, 13, 13),
		at(history.Acquire, 2, 11, 13, 14), deleted(102, 11, 15), at(history.Release, 2, 11, 15, 15)}
	unseen := []history.Record{at(history.Acquire, 1, 31, 40, 20), at(history.Release, 1, 31, 40, 21)}
	unread := &history.CommitsEnd{Last: 16, Err: "no leader"}
	judgeOne(t, FIFO, join(start, overtaken, []history.Record{whole()}), Fail, "although client 2 with the newer token 11")
	judgeOne(t, FIFO, join(start, overtaken, []history.Record{withGap()}), Unknown, "gaps in the commits")
	judgeOne(t, FIFO, join(start, inOrder, []history.Record{withGap()}), Pass, "")
	judgeOne(t, FIFO, join(start, inOrder, unseen, []history.Record{unread}), Unknown, "the node of 1 grant is not in the commits")
}

// Nodes that are created at the grant say nothing about who waited longer.
func TestFIFO_ofNodesThatAreCreatedAtTheGrant(t *testing.T) {
	grants := func(waits bool) (records []history.Record) {
		records = []history.Record{opened(1, 101), opened(2, 102)}
		for i := range int64(12) {
			client, zxid := int(1+i%2), 10+2*i
			node, gone := created(int64(100+client), zxid), deleted(int64(100+client), zxid, zxid+1)
			if waits { // the next node exists when this one is deleted
				gone.Zxid = zxid + 3
			}
			grant := operation(history.Acquire, client, zxid, zxid+3, seconds(10+i))
			grant.Call -= 5 * second // it waited while the other held
			records = append(records, node, grant, gone, operation(history.Release, client, zxid, zxid+3, seconds(11+i)))
		}
		return append(records, whole())
	}
	judgeOne(t, FIFO, grants(false), Unknown, "nodes are created at the grant")
	judgeOne(t, FIFO, grants(true), Pass, "")
}

// Without exclusion several may hold at once: an older node may wait for another reason.
func TestFIFO_ofASubjectWithoutExclusion(t *testing.T) {
	records := []history.Record{opened(1, 101), opened(2, 102), created(101, 10), created(102, 11),
		operation(history.Acquire, 2, 11, 11, second), operation(history.Acquire, 1, 10, 11, 2*second), whole()}
	judgeFor(t, history.Promises{FIFO: true}, FIFO, records, Unknown, "does not promise exclusion")
	judgeFor(t, history.Promises{FIFO: true}, ClaimValidity, records, Pass, "all 2 grants")
	judgeOne(t, FIFO, records, Fail, "client 1 was granted token 10")
}
