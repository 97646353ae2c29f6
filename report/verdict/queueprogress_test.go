package verdict

import "testing"

// The session timeout of the stories is 4 s, so the limit is 4 + 2 + 2 = 8 s.
func TestProgress_ofAQueue(t *testing.T) {
	const before = "opened 0 9\nopened 1 8\nput a 10\ntake a 20\nput b 30\n"
	const still, restless = "waiter 1 2000 3000 0 1 0\n", "waiter 1 2000 3000 1 1 0\n"
	const late, lateRestless = "item b-1 8000 9000\nwaiter 1 8000 9000 1 1 0\nlooked 8000 9000 queue", "item b-1 7029 8030\nwaiter 1 7029 8030 1 1 0\nlooked 7029 8030 queue"
	judgeStories(t, Progress, []telling{
		{"what is put is taken", before + "take b 40\nemptied 50", Pass, ""},
		{"items that nobody takes, for whom all wait, are stuck", before + "item b-1 2000 3000\n" + still + "looked 2000 3000 queue", Fail, "the first /q/b-1; 1 consumers waited"},
		{"a consumer that moves may be about to take", before + "item b-1 2000 3000\n" + restless + "looked 2000 3000 queue", Pass, ""},
		{"one of two that moves may be about to take", before + "item b-1 2000 3000\n" + still + "waiter 2 2000 3000 1 1 0\nlooked 2000 3000 queue", Pass, ""},
		{"one look's stillness is not the next one's", before + restless + "looked 1000 1900 queue\nitem b-1 2000 3000\n" + still + "looked 2000 3000 queue", Fail, "nothing"},
		{"without an item there is nothing to take", before + still + "looked 2000 3000 queue", Pass, ""},
		{"without a consumer nobody must take", before + "item b-1 2000 3000\nlooked 2000 3000 queue", Pass, ""},
		{"a look that is too short proves nothing", before + "item b-1 2001 3000\nwaiter 1 2001 3000 0 1 0\nlooked 2001 3000 queue", Pass, ""},
		{"nobody is judged while a fault is in force", before + "fault session.flap 1 2500 2600\nitem b-1 2000 3000\n" + still + "looked 2000 3000 queue", Pass, ""},
		{"consumers that spin and take nothing for too long are stuck", before + late, Fail, "for 8.97s, more than the limit of 8s"},
		{"for as long as the limit they may", before + lateRestless, Pass, ""},
		{"the limit counts from the end of a fault", before + "fault session.flap 1 900 1000\n" + late, Pass, ""},
		{"and not from before it", before + "fault session.flap 1 900 999\n" + late, Fail, "for 8.001s"},
		{"a blind consumer of an empty queue is not a line's", before + "take b 40\nwaiter 1 2000 3000 0 0 1\nlooked 2000 3000 queue", Pass, ""},
		{"a take that ended after the look moved during it", before + "take b 40000\nitem c-1 2000 3000\n" + still + "looked 2000 3000 queue", Pass, ""},
		{"nothing taken is nothing shown", "put a 10", Unknown, "nothing was ever taken"},
		{"a failed take takes nothing", "put a 10\ntake - 20 failed", Unknown, "nothing was ever taken"},
		{"faults all the time, and the queue is empty afterwards", before + "fault session.flap 1 0 1000\ntake b 40\nemptied 1001", Pass, "afterwards the queue ran empty"},
		{"empty while the fault is in force says nothing", before + "fault session.flap 1 0 1000\ntake b 40\nemptied 1000", Unknown, "every take met a fault"},
	})
}
