package verdict

import "testing"

// The session timeout of the stories is 4 s, so the limit is 4 + 2 + 2 = 8 s.
func TestProgress(t *testing.T) {
	const two = "opened 1 101\nopened 2 102\n"
	judgeStories(t, Progress, []row{
		{"who waits gets its turn", two + `
			acquire 1 5 0 10
			release 1 5 20 21
			acquire 2 6 0 25
			release 2 6 30 31`, Pass, ""},
		{"a long wait behind a holder is no lack of progress", two + `
			acquire 1 5 0 10
			release 1 5 60000 60001
			acquire 2 6 0 60002
			release 2 6 60010 60011`, Pass, ""},
		{"nobody held for longer than the limit while one waited", two + `
			acquire 1 5 0 10
			release 1 5 20 21
			acquire 2 6 0 9000
			release 2 6 9010 9011`, Fail, "nobody held anything from 20ms to 9s without a fault near, 8.98s and more than the limit of 8s, while client 2 waited (record 5)"},
		{"an idle time in which nobody waited is well", two + `
			acquire 1 5 0 10
			release 1 5 20 21
			acquire 2 6 8999 9000
			release 2 6 9010 9011`, Pass, ""},
		{"a failed acquire waited too", two + `
			acquire 1 5 0 10
			release 1 5 20 21
			acquire 2 6 10 20000 failed`, Fail, "client 2 waited (record 5)"},
		{"a fault excuses an idle time, and its aftermath too", two + `
			acquire 1 5 0 10
			session killed 1 1000
			fault session.freeze 1 1000 1100
			acquire 2 6 0 9050
			release 2 6 9060 9061
			acquire 1 7 30000 30001`, Pass, ""},
		{"long after the fault the excuse is over", two + `
			acquire 1 5 0 10
			session killed 1 1000
			fault session.freeze 1 1000 1100
			acquire 2 6 0 17500
			release 2 6 17600 17601`, Fail, "from 9.1s to 17.5s"},
		{"an acquire that meets a fault is no evidence of progress", two + `
			fault slow -1 0 5000
			acquire 1 5 10 20`, Unknown, "every acquire met a fault"},
		{"without a timeout nobody can say how long is too long", "acquire 1 5 10 20", Unknown, "session timeout is not in the history"},
		{"nothing granted is nothing shown", two, Unknown, "nothing was ever granted"},
	})
}
