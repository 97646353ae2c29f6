package verdict

import "testing"

// The session timeout of the stories is 4 s, so the limit is 4 + 2 + 2 = 8 s.
func TestProgress_ofAQueue(t *testing.T) {
	const before = "opened 0 9\nopened 1 8\nput a 10\ntake a 20\nput b 30\n"
	const still, restless = " waiter=1:0:1:0", " waiter=1:1:1:0"
	const late, lateRestless = "snapshot 8000 9000 queue item=b-1 waiter=1:1:1:0", "snapshot 7029 8030 queue item=b-1 waiter=1:1:1:0"
	judgeStories(t, Progress, []row{
		{"what is put is taken", before + "take b 40\nemptied 50", Pass, ""},
		{"items that nobody takes, for whom all wait, are stuck", before + "snapshot 2000 3000 queue item=b-1" + still, Fail, "the first /q/b-1; 1 consumers waited"},
		{"a consumer that moves may be about to take", before + "snapshot 2000 3000 queue item=b-1" + restless, Pass, ""},
		{"one of two that moves may be about to take", before + "snapshot 2000 3000 queue item=b-1" + still + " waiter=2:1:1:0", Pass, ""},
		{"who moved in one snapshot may be still in the next", before + "snapshot 1000 1900 queue" + restless + "\nsnapshot 2000 3000 queue item=b-1" + still, Fail, "nothing"},
		{"without an item there is nothing to take", before + "snapshot 2000 3000 queue" + still, Pass, ""},
		{"without a consumer nobody must take", before + "snapshot 2000 3000 queue item=b-1", Pass, ""},
		{"a snapshot that is too short proves nothing", before + "snapshot 2001 3000 queue item=b-1 waiter=1:0:1:0", Pass, ""},
		{"nobody is judged while a fault is in force", before + "fault session.flap 1 2500 2600\nsnapshot 2000 3000 queue item=b-1" + still, Pass, ""},
		{"consumers that spin and take nothing for too long are stuck", before + late, Fail, "for 8.97s, more than the limit of 8s"},
		{"for as long as the limit they may", before + lateRestless, Pass, ""},
		{"the limit counts from the end of a fault", before + "fault session.flap 1 900 1000\n" + late, Pass, ""},
		{"and not from before it", before + "fault session.flap 1 900 999\n" + late, Fail, "for 8.001s"},
		{"a blind consumer of an empty queue is not a line's", before + "take b 40\nsnapshot 2000 3000 queue waiter=1:0:0:1", Pass, ""},
		{"a take that ended after the snapshot moved during it", before + "take b 40000\nsnapshot 2000 3000 queue item=c-1" + still, Pass, ""},
		{"nothing taken is nothing shown", "put a 10", Unknown, "nothing was ever taken"},
		{"a failed take takes nothing", "put a 10\ntake - 20 failed", Unknown, "nothing was ever taken"},
		{"faults all the time, and the queue is empty afterwards", before + "fault session.flap 1 0 1000\ntake b 40\nemptied 1001", Pass, "afterwards the queue ran empty"},
		{"empty while the fault is in force says nothing", before + "fault session.flap 1 0 1000\ntake b 40\nemptied 1000", Unknown, "every take met a fault"},
	})
}
