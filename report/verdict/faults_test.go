package verdict

import "testing"

func TestFaults(t *testing.T) {
	judgeStories(t, Faults, []telling{
		{"a fault with a proof is well", "fault session.close 1 1 2", Pass, ""},
		{"a fault without a proof makes the trial unknown and is named", "fault session.close 1 1 2 noproof", Unknown, "session.close on client 1 at 1ms (record 1): no proven effect"},
		{"without a fault the verdict is not given", "acquire 1 5 0 10", "", ""},
	})
}
