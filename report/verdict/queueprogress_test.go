package verdict

import "testing"

// The session timeout of the stories is 4 s, so the limit is 4 + 2 + 2 = 8 s.
func TestProgress_ofAQueue(t *testing.T) {
	const before = "opened 0 9; opened 1 8; put a 10; take a 20; put b 30; "
	const still, restless = " waiter=1:0:1:0", " waiter=1:1:1:0"
	const late, lateRestless = "snapshot 8000 9000 queue item=b-1 waiter=1:1:1:0", "snapshot 7029 8030 queue item=b-1 waiter=1:1:1:0"
	judgeStories(t, Progress, []row{
		{"what is put is taken", before + "take b 40; emptied 50", Pass, ""},
		{"items that nobody takes, for whom all wait, are stuck", before + "snapshot 2000 3000 queue item=b-1" + still, Fail, "the first /q/b-1; 1 consumer waited"},
		{"an item that was handed out, and stands, waits for nobody", "opened 0 9; opened 1 8; create 10 9 a; put a 10 zxid=10; take a 20 zxid=10; snapshot 2000 3000 queue item=qn-10" + still, Pass, ""},
		{"a claim that a consumer left behind is not an item", "opened 0 9; opened 1 8; create 10 9 a; put a 10 zxid=10; delete 11 8 10; take a 20 zxid=11; snapshot 2000 3000 queue item=claim-10" + still, Pass, ""},
		{"nor is one with data of its own", "opened 0 9; opened 1 8; create 10 9 a; put a 10 zxid=10; create 11 8 c98af; delete 12 8 10; take a 20 zxid=12; snapshot 2000 3000 queue item=qn-11" + still, Pass, ""},
		{"another beside it does", "opened 0 9; opened 1 8; create 10 9 a; put a 10 zxid=10; create 11 9 b; put b 12 zxid=11; take a 20 zxid=11; snapshot 2000 3000 queue item=qn-10 item=qn-11" + still, Fail, "1 item in the queue from 2s to 3s without a fault, the first /q/qn-11"},
		{"nor does one that was moved to another folder, as what is done", "opened 0 9; opened 1 8; create 10 9 a; put a 10 zxid=10; take a 20 zxid=10; create 11 9 b; put b 30 zxid=11; move 12 8 11 b; take - 40 unknown zxid=12; snapshot 2000 3000 queue item=done/qn-11" + still, Pass, ""},
		{"one that was moved there and forgotten does", "opened 0 9; opened 1 8; create 10 9 a; put a 10 zxid=10; take a 20 zxid=10; create 11 9 b; put b 30 zxid=11; move 12 8 11 b; take - 40 failed zxid=12; snapshot 2000 3000 queue item=done/qn-11" + still, Fail, "the first /q/done/qn-11"},
		{"a consumer that moves may be about to take", before + "snapshot 2000 3000 queue item=b-1" + restless, Pass, ""},
		{"one of two that moves may be about to take", before + "snapshot 2000 3000 queue item=b-1" + still + " waiter=2:1:1:0", Pass, ""},
		{"who moved in one snapshot may be still in the next", before + "snapshot 1000 1900 queue" + restless + "; snapshot 2000 3000 queue item=b-1" + still, Fail, "their connections were idle"},
		{"without an item there is nothing to take", before + "snapshot 2000 3000 queue" + still, Pass, ""},
		{"without a consumer nobody must take", before + "snapshot 2000 3000 queue item=b-1", Pass, ""},
		{"a snapshot that is too short proves nothing", before + "snapshot 2001 3000 queue item=b-1 waiter=1:0:1:0", Pass, ""},
		{"nobody is judged while a fault is in force", before + "fault session.flap 1 2500 2600; snapshot 2000 3000 queue item=b-1" + still, Pass, ""},
		{"consumers that spin and take nothing for too long are stuck", before + late, Fail, "for 8.97s, more than the limit of 8s"},
		{"for as long as the limit they may", before + lateRestless, Pass, ""},
		{"the limit counts from the end of a fault", before + "fault session.flap 1 900 1000; " + late, Pass, ""},
		{"and not from before it", before + "fault session.flap 1 900 999; " + late, Fail, "for 8.001s"},
		{"a blind consumer of an empty queue is not a line's", before + "take b 40; snapshot 2000 3000 queue waiter=1:0:0:1", Pass, ""},
		{"a take that ended after the snapshot moved during it", before + "take b 40000; snapshot 2000 3000 queue item=c-1" + still, Pass, ""},
		{"nothing taken is nothing shown", "put a 10", Unknown, "nothing was ever taken"},
		{"a failed take takes nothing", "put a 10; take - 20 failed", Unknown, "nothing was ever taken"},
		{"faults all the time, and the items are taken all the same", before + "fault session.flap 1 0 1000; take b 40", Pass, "faults were active throughout; no client exceeded the wait limit, and"},
		{"an item that a waiting consumer takes at last, after the limit", before + "take b 9000 called=35", Fail, `item "b" was put (record 5), but from 35ms to 9s, without a fault nearby, nothing was taken for`},
		{"an item that was put a moment ago", "opened 0 9; put a 8990; take a 9000 called=35", Pass, ""},
		{"an item that nobody had asked for", before + "take b 9000 called=8990", Pass, ""},
		{"takes that end with nothing, again and again", before + "take - 3000 failed called=35; take - 6000 failed called=3001; take b 9000 called=6001", Fail, "from 35ms to 9s"},
		{"takes that a client gave up long before the next", before + "take - 3000 failed called=35; take b 9000 called=6001", Pass, ""},
		{"while others are given items nobody is stuck", before + "put c 30; take c 5000 client=2; take b 9000 called=35", Pass, ""},
		{"a fault excuses so long a wait", before + "fault session.flap 1 5000 5100; take b 9000 called=35", Pass, ""},
	})
	const both = "opened 0 9; opened 1 8; create 10 9 a; put a 10 zxid=10; create 11 9 b; put b 12 zxid=11; take - 15 unknown zxid=11; "
	judgeStories(t, Progress, []row{
		{"of a queue that keeps taken items, a take of unknown outcome may have taken one", both + "take b 20 zxid=11; snapshot 2000 3000 queue item=qn-10" + still, Pass, ""},
		{"which shows later", both + "snapshot 2000 3000 queue item=qn-10" + still + "; take b 3100 zxid=11 called=20", Pass, ""},
		{"but not two", both + "create 12 9 c; put c 16 zxid=12; take b 20 zxid=12; snapshot 2000 3000 queue item=qn-10 item=qn-12" + still, Fail, "2 items in the queue"},
		{"a queue that removes them would have removed it", both + "delete 13 8 11; take b 20 zxid=13; snapshot 2000 3000 queue item=qn-10" + still, Fail, "1 item in the queue"},
	})
	const standing = "opened 0 9; opened 1 8; create 3 9 a; put a 10 zxid=3 in=one; delete 4 8 3; take a 20 zxid=4 in=one; create 5 9 b; put b 30 zxid=5 in=one; "
	judgeStories(t, Progress, []row{
		{"an item that stands when a phase is over, for which a consumer has waited too long", standing + "waiting 1 take 35 9000", Fail, `item "b" was put (record 5) and was available, but from 35ms to 9s, without a fault, nothing was taken for`},
		{"one that was taken later", standing + "waiting 1 take 35 9000; delete 6 8 5; take b 9001 zxid=6", Pass, ""},
		{"an outage that lasts until the phase is over", standing + "fault member.kill -1 3000 3100; phase one 0 9000; waiting 1 take 35 9000", Unknown, "nothing was taken for the last 8.965s"},
		{"a phase in which nothing is taken, whatever others show", standing + "phase one 0 40; phase two 40 900; put c 50 in=two; take - 800 failed called=60 in=two", Unknown, `nothing was ever taken in phase "two"`},
		{"a phase in which nothing is put", standing + "phase one 0 40; phase two 40 900; take - 800 failed called=60 in=two", Pass, ""},
	})
}
