package verdict

import "testing"

func TestSuccession(t *testing.T) {
	const all = "joined 0 1 1; joined 1 2 2; joined 2 3 3; "
	judgeStories(t, Succession, []row{
		{"the next in line leads after the one before has left",
			all + "acquire 0 1 0 1; leaving 0 10; release 0 1 10; acquire 1 2 0 12; leaving -1 20; release 1 2 21",
			Pass, "leaders 0, 1"},
		{"who leaves in the middle of the line changes nothing, until its turn would have come",
			all + "acquire 0 1 0 1; leaving 1 10; acquire 1 2 0 11 failed; leaving 0 20; release 0 1 20; " +
				"acquire 2 3 0 22; leaving -1 30", Pass, "leaders 0, 0, 2"},
		{"a grant that names no token is the leader's all the same",
			all + "acquire 0 0 0 1; leaving 0 10; release 0 0 10; acquire 1 0 0 12; leaving -1 20; release 1 0 21",
			Pass, "leaders 0, 1"},
		{"a leader that holds by another node than it stood in line by",
			all + "acquire 0 7 0 1; leaving 0 10; release 0 7 10; acquire 1 9 0 12; leaving -1 20; release 1 9 21",
			Pass, "leaders 0, 1"},
		{"one that leads by the node of another",
			all + "acquire 0 2 0 1; leaving -1 10", Fail, "although client 0 was the first in line"},
		{"the order of the nodes counts, not that of joining",
			"joined 2 1 1; joined 1 2 2; acquire 2 1 0 3; leaving 2 10; release 2 1 10; acquire 1 2 0 12; " +
				"leaving -1 20", Pass, "leaders 2, 1"},
		{"who jumps the line leads wrongly",
			all + "acquire 0 1 0 1; leaving 0 10; release 0 1 10; acquire 2 3 0 12; leaving -1 20",
			Fail, "after client 0 had left at 10ms, client 2 led from 12ms (record 7), although client 1 was the first in line"},
		{"who jumps the line for a moment leads wrongly all the same",
			all + "acquire 0 1 0 1; leaving 0 10; release 0 1 10; hold 2 3 12 13; acquire 1 2 0 15; leaving -1 20",
			Fail, "client 2 led from 12ms"},
		{"nobody leads though somebody stands",
			all + "acquire 0 1 0 1; leaving 0 10; release 0 1 10; leaving -1 20", Fail, "no client led, although"},
		{"a leader that was let in too late did not lead when it had to",
			all + "acquire 0 1 0 1; leaving 0 10; release 0 1 10; leaving -1 20; acquire 1 2 0 21",
			Fail, "no client led, although"},
		{"who has left and does not know it yet is no rival",
			all + "acquire 0 1 0 1; leaving 0 10; acquire 1 2 0 12; session lost 0 18; leaving -1 20",
			Pass, "leaders 0, 1"},
		{"a leader whose connection is gone at the moment may lead still",
			all + "opened 0 100; acquire 0 1 0 1; session suspended 0 5; leaving 0 10; leaving -1 20",
			Fail, "no client led, although"},
		{"whether a suspended leader leads is not known",
			all + "opened 0 100; acquire 0 1 0 1; session suspended 0 5; leaving -1 20",
			Unknown, "client 0 led, but its leadership ended (suspended)"},
		{"a drill that was broken off proves nothing",
			all + "acquire 0 1 0 1; leaving 0 10; release 0 1 10", Unknown, "not completed"},
		{"when all have left nobody leads",
			"joined 0 1 1; acquire 0 1 0 1; leaving 0 10; release 0 1 10; leaving -1 20", Pass, "leaders 0, none"},
		{"without a drill nothing is judged", "acquire 0 1 0 1", NotJudged, "no phase removed leaders"},
	})
}
