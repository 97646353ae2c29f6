package verdict

import "testing"

// What the observer saw, as stories: see story_test.go for the lines.

func TestNoOrphan(t *testing.T) {
	judgeStories(t, NoOrphan, []row{
		{"a line in which nothing stands has no orphans", "opened 0 9; acquire 0 5 10 20; release 0 5 30; snapshot 40 60", Pass, "1 times"},
		{"without a snapshot there is nothing to judge", "opened 0 9; acquire 0 5 10 20", NotJudged, "neither commits nor snapshots of the line"},
		{"the node of a holder is its own", "opened 0 9; acquire 0 5 10 20; snapshot 40 60 node=0:5; release 0 5 70", Pass, ""},
		{"the node of a holder that never lets go is its own", "opened 0 9; acquire 0 5 10 20; snapshot 40 60 node=0:5", Pass, ""},
		{"the node of a waiter is its own", "opened 0 9; snapshot 40 60 node=0:5; acquire 0 0 10 90 failed", Pass, ""},
		{"a node that goes during the snapshot was still its own", "opened 0 9; acquire 0 5 10 20; release 0 5 30 40; snapshot 40 60 node=0:5", Pass, ""},
		{"a node after its release is an orphan", "opened 0 9; acquire 0 5 10 20; release 0 5 30 39; snapshot 40 60 node=0:5", Fail, "client 0 neither held nor waited"},
		{"a node of an acquire that failed is an orphan", "opened 0 9; acquire 0 0 10 39 failed; snapshot 40 60 node=0:5", Fail, "was in line"},
		{"a node before an acquire that came later is an orphan", "opened 0 9; snapshot 40 60 node=0:5; acquire 0 6 61 70", Fail, "was in line"},
		{"an acquire at the last instant of the snapshot may claim it", "opened 0 9; snapshot 40 60 node=0:5; acquire 0 6 60 70", Pass, ""},
		{"a node of another kind, in a folder of its own, is in no line", "opened 0 9; acquire 0 5 10 20; release 0 5 30 39; snapshot 40 60 folder=/l/members node=0:5:/l/members/a", Pass, "1 times"},
		{"nor is one beside the line, though it has a number", "opened 0 9; acquire 0 5 10 20; release 0 5 30 39; snapshot 40 60 node=0:6:/l/member-0000000006", Pass, "1 times"},
		{"of two nodes of a waiter one is an orphan", "opened 0 9; snapshot 40 60 node=0:5 node=0:6; acquire 0 0 10 90 failed", Fail, "had 2 nodes in line"},
		{"one node in two snapshots is one node", "opened 0 9; snapshot 40 60 node=0:5; snapshot 70 90 node=0:5; acquire 0 0 10 95 failed", Pass, "2 times"},
		{"nodes of two waiters are one each", "opened 0 9; opened 1 8; snapshot 40 60 node=0:5 node=1:6; acquire 0 0 10 90 failed; acquire 1 0 10 90 failed", Pass, ""},
		{"what an acquire has left is gone with a session that is closed before anybody looks", "opened 0 9; acquire 0 0 10 39 failed; session closed 0 9000; opened 0 8; snapshot 9060 9090", Unknown, "before 1 session closed"},
		{"a look that began before it ended is none", "opened 0 9; acquire 0 0 10 39 failed; snapshot 30 45; session closed 0 9000; snapshot 9060 9090", Unknown, "before 1 session closed"},
		{"nor is one while it was away", "opened 0 9; acquire 0 0 10 39 failed; session suspended 0 40; snapshot 45 60; session restored 0 70; session closed 0 9000; snapshot 9060 9090", Unknown, "before 1 session closed"},
		{"a look in between is enough", "opened 0 9; acquire 0 0 10 39 failed; snapshot 40 45; session closed 0 9000; snapshot 9060 9090", Pass, "2 times"},
		{"a session that is closed at once leaves no time to clean up", "opened 0 9; acquire 0 0 10 39 failed; session closed 0 50; snapshot 60 90", Pass, "1 times"},
		{"so is a grant after it", "opened 0 9; acquire 0 0 10 39 failed; acquire 0 5 40 41; session closed 0 9000; snapshot 9060 9090", Pass, "1 times"},
		{"an acquire whose session was gone has left nothing", "opened 0 9; session lost 0 20; acquire 0 0 10 39 failed; session closed 0 9000; snapshot 9060 9090", Pass, "1 times"},
		{"nor has one whose session expires", "opened 0 9; acquire 0 0 10 39 failed; session expired 0 45; session closed 0 9000; snapshot 9060 9090", Pass, "1 times"},
		{"a node of nobody's session will expire", "opened 0 9; acquire 0 5 10 20; release 0 5 30; snapshot 40 60 node=-1:5", Pass, ""},
	})
}

func TestProgress_bySnapshots(t *testing.T) {
	const before = "opened 0 9; opened 1 8; acquire 0 5 10 20; release 0 5 30; "
	const waits = "; acquire 1 0 25 5000 failed"
	judgeStories(t, Progress, []row{
		{"a waiter that nothing can wake is lost", before + "snapshot 2000 3000 node=1:6 waiter=1:0:0:1" + waits, Fail, "): nothing will wake it"},
		{"a line that does not move and that nobody holds is stuck", before + "snapshot 2000 3000 node=1:6 waiter=1:0:1:0" + waits, Fail, "without a fault, the lock was free, and the line did not change (record"},
		{"a waiter that is granted later by itself waited for a time", before + "snapshot 2000 3000 node=1:6 waiter=1:0:0:0; acquire 1 6 25 5000", Pass, ""},
		{"a waiter that is granted after another client has acted may have been woken", before + "snapshot 2000 3000 node=1:6 waiter=1:0:1:0; acquire 0 7 3500 3600 failed; acquire 1 6 25 5000", Fail, "without a fault, the lock was free"},
		{"a folder holds nothing up", before + "snapshot 2000 3000 folder=/l/locks node=1:6 waiter=1:0:1:0" + waits, Fail, "the first of 1 nodes in line"},
		{"whose member has not caught up may yet be woken", before + "snapshot 2000 3000 node=1:6 waiter=1:0:0:1:behind" + waits, Pass, ""},
		{"a waiter that moves is not stuck", before + "snapshot 2000 3000 node=1:6 waiter=1:1:1:0" + waits, Pass, ""},
		{"a snapshot that is too short proves nothing", before + "snapshot 2001 3000 node=1:6 waiter=1:0:1:0" + waits, Pass, ""},
		{"behind a holder the line stands still", before + "acquire 0 7 100 200; snapshot 2000 3000 node=1:6 waiter=1:0:1:0" + waits, Pass, ""},
		{"a session that will expire holds the line up for a while", before + "snapshot 2000 3000 node=-1:6 waiter=1:0:1:0" + waits, Pass, ""},
		{"while a fault is in force nobody is judged", before + "fault session.flap 1 2500 2600; snapshot 2000 3000 node=1:6 waiter=1:0:0:1" + waits, Pass, ""},
		{"one that waits blindly behind a holder is lost all the same", before + "acquire 0 7 100 200; snapshot 2000 3000 waiter=1:0:0:1" + waits, Fail, "): nothing will wake it"},
	})
}

func TestClaimValidity_bySnapshots(t *testing.T) {
	const held = "opened 0 9; acquire 0 5 10 20; "
	judgeStories(t, ClaimValidity, []row{
		{"another session's node gives no claim", held + "checked 0 5 7 0 21 25", Fail, "the node belonged to session 0x7"},
		{"another node of the same name gives no claim", held + "checked 0 6 9 0 21 25", Fail, "the node's czxid was 6"},
		{"a node that is not there gives no claim", held + "checked 0 0 0 0 21 25", Fail, "the node did not exist"},
		{"after a fault the node may be gone before the client knows", held + "fault session.close 0 15 16; checked 0 0 0 0 21 25", Pass, ""},
		{"after a warning the node may be gone", held + "session suspended 0 20; checked 0 0 0 0 21 25", Pass, ""},
		{"a fault is no excuse for another's node", held + "fault session.close 0 15 16; checked 0 5 7 0 21 25", Fail, "the node belonged to session 0x7"},
		{"who is not first in line has no claim", held + "checked 0 5 9 1 21 25", Fail, "1 older nodes"},
		{"a fault that hit another client is no excuse", held + "fault session.close 1 15 16; checked 0 0 0 0 21 25", Fail, "the node did not exist"},
		{"a fault that was over long before is no excuse", "opened 0 9; fault session.close 0 1 2; acquire 0 5 10000 10001; checked 0 0 0 0 10002 10003", Fail, "the node did not exist"},
		{"a check from before the grant proves nothing", held + "checked 0 0 0 0 19 25", Unknown, "no grant was checked"},
	})
}

func TestMutualExclusion_afterTheServersWord(t *testing.T) {
	const held = "opened 0 9; opened 1 8; acquire 0 5 10 20; "
	judgeStories(t, MutualExclusion, []row{
		{"who stops when the word comes is sound", held + "session expired 0 100; session lost 0 101; acquire 1 6 50 200", Pass, ""},
		{"who stops within the grace is sound", held + "session expired 0 100; release 0 5 1100", Pass, ""},
		{"who holds on after the grace still believes", held + "session expired 0 100; release 0 5 1101", Fail, "it still believed"},
		{"who writes after the grace still believes", held + "session expired 0 100; write 0 5 1 1101; session lost 0 1102", Fail, "began a write"},
		{"a grant whose session is not recorded is not one that has ended", "acquire 0 5 0 0; release 0 5 3000", Pass, ""},
		{"who is restored after the word, and holds on, still believes", held + "session suspended 0 50; session expired 0 100; session restored 0 101; release 0 5 1102", Fail, "reported at 101ms (record 6) that its grant was restored"},
		{"who is restored while the word is on its way stops within the grace", held + "session suspended 0 50; session expired 0 100; session restored 0 101; session lost 0 102", Pass, ""},
		{"another session's end is not its own", "opened 0 7; session expired 0 5; opened 0 9; acquire 0 5 10 20; release 0 5 3000", Pass, ""},
	})
}

func TestBusyLoop(t *testing.T) {
	judgeStories(t, BusyLoop, []row{
		{"requests that calls explain are no loop", "effort 0 10 200 0 0 0", Pass, ""},
		{"one request more than calls explain is a loop", "effort 0 10 201 0 0 0", Fail, "client 0 sent 201 requests for 10 calls, and only"},
		{"notifications explain requests", "effort 0 10 212 1 1 0", Pass, ""},
		{"one more than they explain is a loop", "effort 0 10 213 1 1 0", Fail, "1 notifications and 1 connections as"},
		{"refusals explain nothing to a lock", "effort 0 10 201 0 0 50", Fail, ""},
		{"refusals explain requests to a queue", "effort 0 10 206 0 0 1 queue", Pass, ""},
		{"without a count nothing is judged", "opened 0 9", NotJudged, "counted"},
	})
}

func TestQueueFIFO(t *testing.T) {
	judgeStories(t, QueueFIFO, []row{
		{"items that leave as they came are in order", "put a 1; put b 2; take a 3; take b 4", Pass, ""},
		{"an item that leaves before its elder overtakes", "put a 1; put b 2; take b 3; take a 4", Fail, `item "a" was put`},
		{"items that were put at the same time have no order", "put a 1; put b 1; take b 3; take a 4", Pass, ""},
		{"takes at the same time have no order", "put a 1; put b 2; take b 3; take a 3", Pass, ""},
		{"an item of a put without a reply has no place", "put a 1 unknown; put b 2; put c 3; take b 4; take a 5; take c 6", Pass, ""},
		{"a take that is recorded before its put's reply counts all the same", "take a 2; put a 1; take b 4; put b 3", Pass, ""},
		{"a take without a reply overtakes nobody", "put a 1; put b 2; put c 3; take b 4 unknown; take a 5; take c 6", Pass, ""},
		{"one item has no order", "put a 1; take a 2", Unknown, "needs two"},
		{"an item overtakes across another", "put a 1; put b 2; put c 3; take c 4; take b 5; take a 6", Fail, `item "b" was put`},
	})
}
