package verdict

import (
	"testing"
)

func TestNotificationCount(t *testing.T) {
	judgeStories(t, NotificationCount, []row{
		{"the members fired what passed", "opened 1 9; fan 10 9 9 9; fan 20 4 9 4", Pass, "all of 2 rounds"},
		{"members that do not tell", "opened 1 9; fan 10 9 9", NotJudged, "0 rounds"},
		{"more passed than was fired", "opened 1 9; fan 10 9 9 9; fan 20 9 9 8", Fail, "9 notifications passed on the wire, but the members had fired 8 (record 3)"},
		{"more was fired than passed", "opened 1 9; fan 20 9 9 10", Unknown, "counters show 10 notifications, but the tap shows 9 (record "},
		{"a round that a fault disturbed", "opened 1 9; fault member.restart -1 10 20; fan 30 9 9 0; fan 40 9 9 0", NotJudged, "the members counted 2 rounds, but faults affected all"},
		{"one long after it", "opened 1 9; fault member.restart -1 10 20; fan 30000 9 9 0", Fail, "the members had fired 0"},
	})
}
