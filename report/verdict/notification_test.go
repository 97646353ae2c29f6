package verdict

import "testing"

func TestLossNotification(t *testing.T) {
	const held = "opened 0 7\nacquire 0 5 0 0\n"
	judgeStories(t, LossNotification, []row{
		{"a holder is notified of the loss", held + "session expired 0 100\nsession lost 0 200\n", Pass, "1 holder notified"},
		{"it was notified of the suspension before", held + "session suspended 0 50\nsession expired 0 100\nopened 1 8 4000 20000\n", Pass, "1 holder notified"},
		{"it is never notified", held + "session expired 0 100\nopened 1 8 4000 20000\n", Fail, "client 0 held a grant of session 0x7"},
		{"it is told that it is restored instead", held + "session suspended 0 50\nsession restored 0 60\nsession expired 0 100\nopened 1 8 4000 20000\n", Fail, "client 0"},
		{"it releases in time", held + "session expired 0 100\nrelease 0 5 300 301\nopened 1 8 4000 20000\n", NotJudged, "no holder's session ended"},
		{"a waiter holds nothing", "opened 0 7\nsession expired 0 100\nopened 1 8 4000 20000\n", NotJudged, ""},
	})
}
