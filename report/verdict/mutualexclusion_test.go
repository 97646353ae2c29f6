package verdict

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestMutualExclusion(t *testing.T) {
	const two = "opened 1 101; opened 2 102; "
	judgeStories(t, MutualExclusion, []row{
		{"one after the other is exclusive", two + "acquire 1 5 0 10; release 1 5 20 30; hold 2 6 25 40", Pass, ""},
		{"belief ends when release is called, not when it returns",
			two + "acquire 1 5 0 10; acquire 2 6 0 21; release 1 5 20 30; release 2 6 40", Pass, ""},
		{"belief starts when acquire has returned, not when it was called",
			two + "hold 1 5 10 20; acquire 2 6 1 20", Pass, ""},
		{"a grant that names no token is not late for that, and its own fault excuses nobody else",
			two + "fault session.freeze 1 5 55; acquire 0 5 1 10; acquire 1 0 3 50; release 1 0 60; release 0 5 90",
			Fail, "clients 0 (token 5) and 1 (token 0)"},
		{"who cannot be put in order for coming too late is judged by nobody",
			two + "hold 1 5 10000 10001; hold 2 6 60000 60001; hold 3 4 500 501",
			Unknown, "1 records came more than 10s late"},
		{"two beliefs at once are a violation",
			two + "acquire 1 5 0 10; acquire 2 6 0 15; release 1 5 20 30; release 2 6 40",
			Fail, "clients 1 (token 5) and 2 (token 6) both believed that they held the grant from 15ms to 20ms, records 3 and 4"},
		{"a belief that is never let go of lasts until the end",
			two + "acquire 1 5 0 10; hold 2 6 15 40", Fail, "from 15ms to 40ms"},
		{"belief ends when the holder is suspended",
			two + "acquire 1 5 0 10; session suspended 1 12; hold 2 6 15 40", Pass, ""},
		{"belief ends when the holder hears that the session is lost",
			two + "acquire 1 5 0 10; session lost 1 12; acquire 2 6 0 15", Pass, ""},
		{"belief ends when the harness kills the client",
			two + "acquire 1 5 0 10; session killed 1 12; acquire 2 6 0 15", Pass, ""},
		{"belief ends at the session's own deadline",
			two + "acquire 1 5 0 10; session deadline 1 12; acquire 2 6 0 15", Pass, ""},
		{"an event of another session ends nothing",
			"opened 1 100; acquire 1 5 0 10; opened 1 999; session lost 1 12; opened 2 102; hold 2 6 15 16; " +
				"release 1 5 20", Fail, "token 5"},
		{"a resumed belief starts again for the same token",
			two + "acquire 1 5 0 10; session suspended 1 12; acquire 2 6 0 15; session restored 1 18; " +
				"release 2 6 20; release 1 5 30", Fail, "from 18ms to 20ms"},
		{"a blip that nobody used is well",
			two + "acquire 1 5 0 10; session suspended 1 12; session restored 1 18; release 1 5 30; hold 2 6 35 40",
			Pass, ""},
		{"a release called before the suspension ends belief at its call",
			two + "acquire 1 5 0 10; acquire 2 6 0 22; session suspended 1 25; release 1 5 20 30 unknown; " +
				"release 2 6 40", Pass, ""},
		{"an event that was recorded before the acquire it follows still ends the belief",
			two + "session lost 1 12; acquire 1 5 0 10; hold 2 6 15 40", Pass, ""},
		{"an acquire without a reply is no belief", two + "acquire 1 5 0 10 unknown; hold 2 6 15 40", Pass, ""},
		{"an overlap between the fault and the victim's notification is exposure",
			two + "acquire 1 5 0 10; acquire 2 6 0 1000; session lost 1 1500; fault session.close 1 900 950; " +
				"release 2 6 2000", Pass, "1 exposure, 500ms in all"},
		{"who hears of a connection again, after a fault, cannot know at once that the session is gone",
			two + "acquire 1 5 0 10; session suspended 1 900; fault session.close 1 900 950; acquire 2 6 0 1000; " +
				"session restored 1 1001; session lost 1 1003; release 2 6 2000", Pass, "1 exposure, 2ms in all"},
		{"but soon",
			two + "acquire 1 5 0 10; session suspended 1 900; fault session.close 1 900 950; acquire 2 6 0 1000; " +
				"session restored 1 1001; release 2 6 4000; release 1 5 5000",
			Fail, "excuses the overlap only until 2.001s"},
		{"a fault on the younger of the two excuses nothing",
			two + "acquire 1 5 0 10; acquire 2 6 0 1000; session lost 2 1500; fault session.close 2 900 950; " +
				"release 1 5 2000", Fail, "no fault had affected it"},
		{"a fault on a member excuses nothing",
			two + "acquire 1 5 0 10; acquire 2 6 0 1000; session lost 1 1500; fault member.kill -1 900 950; " +
				"release 2 6 2000", Fail, "no fault had affected it"},
		{"a holder whose member is cut off from the others cannot know",
			two + "acquire 1 5 0 10; cut-off 1 900 950; acquire 2 6 0 1000; release 1 5 2000; release 2 6 2000",
			Pass, "1 exposure, 1s"},
		{"nor can a waiter, which is let in late",
			two + "acquire 2 6 0 1000; cut-off 1 900 950; acquire 1 5 10 1500; release 2 6 2000; release 1 5 2000",
			Pass, "1 exposure, 500ms"},
		{"nor a waiter that is let in late between two others",
			two + "acquire 2 6 0 1000; cut-off 1 900 950; release 2 6 1200; acquire 1 5 10 1500; " +
				"acquire 2 7 1300 1600; release 2 7 2000; release 1 5 2000", Pass, "1 exposure, 400ms"},
		{"who asks after the member is back can know",
			two + "acquire 2 6 0 1000; cut-off 1 900 950; acquire 1 5 960 1500; release 2 6 2000; release 1 5 2000",
			Fail, "client 1 was granted too late, and no fault had affected it"},
		{"who is let in in its turn after the member is back holds",
			two + "acquire 1 5 10 1500; cut-off 1 900 950; hold 2 6 1600 2000; release 1 5 2000",
			Fail, "client 1 should have stopped, and no fault had affected it"},
		{"a member that was cut off excuses only its own clients",
			two + "acquire 1 5 0 10; cut-off 2 900 950; acquire 2 6 0 1000; release 1 5 2000; release 2 6 2000",
			Fail, "client 1 should have stopped, and no fault had affected it"},
		{"a fault after the overlap began excuses nothing",
			two + "acquire 1 5 0 10; acquire 2 6 0 1000; session lost 1 1500; fault session.close 1 1100 1150; " +
				"release 2 6 2000", Fail, "no fault had affected it"},
		{"a fault excuses the victim only as long as it can be unaware",
			two + "acquire 1 5 0 10; acquire 2 6 0 1000; fault session.close 1 900 950; release 2 6 60000; " +
				"release 1 5 70000", Fail, "excuses the overlap only until 8.95s"},
		{"who writes long after it heard of the loss still believes",
			two + "acquire 1 5 0 10; session lost 1 100; write 1 5 1 2000",
			Fail, "1.9s after it was notified that its session 0x65 was lost"},
		{"a write that was under way when the loss came is no proof",
			two + "acquire 1 5 0 10; session lost 1 100; write 1 5 1 150", Pass, ""},
		{"a new session may write",
			two + "acquire 1 5 0 10; session lost 1 100; opened 1 103; acquire 1 6 200 210; write 1 6 1 2000",
			Pass, ""},
		{"without any grant there is nothing to judge", two + "acquire 1 0 0 10 failed", Unknown, "no client ever believed that it held"},
	})
}

// Without commits a fault excuses the session that it hit, until its client is connected
// again.
func TestMutualExclusion_excusesSessionsNotClients(t *testing.T) {
	judgeStories(t, MutualExclusion, []row{
		{"a session that was there while the fault was in force",
			"opened 1 101; opened 2 102; fault session.close 1 900 950; acquire 1 5 0 940; acquire 2 6 0 1000; " +
				"release 1 5 3000", Pass, "1 exposure, 2s"},
		{"a new session is healthy, though its client had been hit",
			"opened 1 101; opened 2 102; fault session.close 1 900 950; opened 1 103 4000 1000; " +
				"acquire 1 5 1001 1002; hold 2 6 1010 20000; release 1 5 20000", Fail, "no fault had affected it"},
		{"a client that is connected again knows",
			"opened 1 101; opened 2 102; acquire 1 5 0 1; fault session.close 1 900 950; acquire 2 6 0 1000; " +
				"opened 1 103 4000 2000; release 2 6 20000; release 1 5 20000", Fail, "that excuses the overlap only until 3s"},
	})
}

// By the commits, who had no right is known, and no fault excuses anybody.
func TestMutualExclusion_isJudgedByTheCommits(t *testing.T) {
	hit := &history.Window{Fault: "session.close", Client: 1, Start: second, End: 2 * second, Proof: "seen"}
	unproven := &history.Window{Fault: "session.close", Client: 1, Start: second, End: 2 * second, CutShort: true}
	operator := &history.Window{Fault: "node.delete", Client: 1, Start: second, End: 2 * second, Proof: "seen", Operator: 900}
	flap := &history.Window{Fault: "session.flap", Client: 1, Start: second, End: 2 * second, Proof: "seen"}
	asked := func(c *history.Commit) *history.Commit {
		c.Cxid = 7
		return c
	}
	// The first client holds from 1 s on, the second from 3 s on, both until 5 s.
	two := func(between []history.Record, zxid int64) []history.Record {
		return join(list{created(101, 10), created(102, 11), acquired(1, 10, 11, second)}, between,
			list{acquired(2, 11, zxid, 3*second), released(1, 10, 30, 5*second), released(2, 11, 31, 5*second)})
	}
	notified := two(list{sessionGone(101, 21, 10)}, 20)
	notified[4].(*history.Sample).Notified = true
	judgeRecords(t, MutualExclusion, fair, bothOpened, []recordRow{
		{"the servers had let the session expire, and nobody had told the client", two(list{sessionGone(101, 20, 10)}, 20), Pass, "1 exposure, 1.999s"},
		{"a fault had closed the session in the client's name", join(list{hit}, two(list{asked(sessionGone(101, 20, 10))}, 20)), Pass, "1 exposure"},
		{"a fault may have closed it, and could not prove it", join(list{unproven}, two(list{asked(sessionGone(101, 20, 10))}, 20)), Pass, "1 exposure"},
		{"after a fault, too, the client had closed its session itself", join(list{flap}, two(list{asked(sessionGone(101, 20, 10))}, 20)), Fail, "client 1 had closed its session itself"},
		{"the client had closed its session itself", two(list{asked(sessionGone(101, 20, 10))}, 20), Fail, "client 1 had closed its session itself"},
		{"the client had deleted its own node", two(list{deleted(101, 10, 20)}, 20), Fail, "client 1 had deleted its own node, /l/n-0000000010, in transaction 0x14"},
		{"another had deleted it", two(list{deleted(102, 10, 20)}, 20), Fail, "another session had deleted the node of client 1"},
		{"a fault had deleted it as an operator", join(list{operator}, two(list{deleted(900, 10, 20)}, 20)), Pass, "1 exposure, 1.999s"},
		{"a fault is no excuse for that", join(list{hit}, two(list{deleted(101, 10, 20)}, 20)), Fail, "had deleted its own node"},
		{"the node stood when the other was let in, whatever fault there was", join(list{hit}, two(nil, 20)), Fail, "the claim of client 2 is not valid"},
		{"the session expired only afterwards", two(list{sessionGone(101, 25, 10)}, 20), Fail, "is not valid: the older node /l/n-0000000010"},
		{"who is let in late, after its session had gone, had no right",
			list{created(101, 10), sessionGone(101, 11, 10), created(102, 12), acquired(2, 12, 12, second), acquired(1, 10, 10, 2*second),
				released(1, 10, 10, 3*second), released(2, 12, 20, 5*second)}, Pass, "1 exposure, 999ms"},
		{"the word had reached the client",
			two(list{sessionGone(101, 20, 10), &history.Session{Event: history.Expired, Client: 1, Session: 101, At: 2 * second}}, 20), Fail, "it still believed"},
		{"a notification came whose transaction may be that of the expiry", notified, Unknown, "the commits do not show"},
		{"a client granted itself without a request", list{created(102, 11), acquired(1, 10, 0, second), acquired(2, 11, 11, 2*second),
			released(1, 10, 0, 5*second), released(2, 11, 31, 5*second)}, Fail, "the claim of client 1 is not valid: its client had not received any reply"},
		{"a removal that may stand in a gap", append(two(nil, 20), withGap()), Unknown, "gaps in the commits"},
	})
}

// A claim is not invalid for an older node of whose removal the client may have known.
func TestClaimValidity_ofAClientThatMayHaveKnown(t *testing.T) {
	for gone, want := range map[int64]string{21: Unknown, 22: Fail} {
		second := acquired(2, 11, 20, 3*second)
		second.Notified = true
		judgeOne(t, ClaimValidity, list{opened(1, 101), opened(2, 102), created(101, 10), created(102, 11), second, sessionGone(101, gone, 10), whole()}, want, "")
	}
}

// Who promises no order may grant the younger node first, but not while the older holds.
func TestMutualExclusion_ofALockWithoutAnOrder(t *testing.T) {
	records := func(zxid int64) []history.Record {
		return list{opened(1, 101), opened(2, 102), created(101, 10), created(102, 11),
			acquired(1, 10, 11, second), sessionGone(101, 20, 10), acquired(2, 11, zxid, 3*second),
			released(1, 10, 30, 5*second), released(2, 11, 31, 5*second), whole()}
	}
	judgeFor(t, unfair, MutualExclusion, records(20), Pass, "1 exposure")
	judgeFor(t, unfair, MutualExclusion, records(19), Fail, "the node of client 1, /l/n-0000000010, existed when client 2 was granted")
	judgeFor(t, history.Promises{}, MutualExclusion, records(19), NotPromised, "does not promise this guarantee")

	// Before version 3.9 a notification of changed children names no transaction, and the reply to the
	// next getChildren can have the zxid before it.
	notified := func(zxid int64) []history.Record {
		all := records(zxid)
		all[6].(*history.Sample).Notified = true
		return all
	}
	judgeFor(t, unfair, MutualExclusion, notified(19), Unknown, "the commits do not show")
	judgeFor(t, unfair, MutualExclusion, notified(18), Fail, "existed when client 2 was granted")
}

// Who says that it holds again when it has the servers' word that its session is gone believes it,
// unless it takes that back: events may be late.
func TestMutualExclusion_ofWhoIsRestoredWithoutASession(t *testing.T) {
	told := history.Header{Trial: "story", Recipe: Lock, Promises: history.Promises{Exclusive: true, Events: true}}
	const gone = "opened 1 101; acquire 1 5 0 10; session suspended 1 100; session expired 1 200; session restored 1 205; "
	judgePromised(t, MutualExclusion, told, []row{
		{"it lets go in good order", gone + "release 1 5 400 401", Fail, "client 1 reported at 205ms (record 5) that its grant was restored, 5ms after the servers' notification that its session 0x65 had ended"},
		{"it hears of it a moment after it was told to let go", gone + "session lost 1 207; release 1 5 206 208", Pass, ""},
		{"it hears of it", gone + "session lost 1 210; release 1 5 400", Pass, ""},
	})
}

// A grant of a session that its client knows to be lost is no exposure: a re-entrant lock that does
// not forget it hands it out again.
func TestMutualExclusion_ofAGrantThatWasLostBefore(t *testing.T) {
	again := acquired(1, 10, 30, 4*second)
	lost := &history.Session{Event: history.Lost, Client: 1, Session: 101, At: 2 * second}
	records := func(lost ...history.Record) []history.Record {
		return join(list{opened(1, 101), opened(2, 102), created(101, 10), created(102, 11), acquired(1, 10, 11, second)}, lost,
			list{sessionGone(101, 20, 10), acquired(2, 11, 21, 3*second), again,
				released(2, 11, 31, 5*second), released(1, 10, 32, 6*second), whole()})
	}
	judgeOne(t, MutualExclusion, records(lost), Fail, "client 1 had been notified at 2s that its session 0x65 was lost, and accepted a grant of that session afterwards")
	judgeOne(t, MutualExclusion, records(), Pass, "exposure")
}
