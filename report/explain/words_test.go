package explain

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// A reader must see who says what: a client may be wrong about its session, the wire is not.
func TestEventOf_saysWhoSaysSo(t *testing.T) {
	for _, row := range []struct {
		about  string
		record history.Record
		want   string
		recipe string
	}{
		{"a session, by the wire", &history.Session{Event: history.Opened, Client: 1, Session: 0x65, Timeout: 4 * time.Second},
			"opened session 0x65, as seen on the wire, with a timeout of 4s", verdict.Lock},
		{"a grant restored, by the client", &history.Session{Event: history.Restored, Client: 1, Session: 0x65, Token: 5},
			"reports that it reconnected with the same session, and that token 5 is restored", verdict.Lock},
		{"the same after the loss, when nothing is left to restore", &history.Session{Event: history.Restored, Client: 1, Session: 0x66},
			"reports that it reconnected with the same session; it does not hold a grant", verdict.Lock},
		{"a grant without a token", &history.Sample{Op: history.Acquire, Client: 1, Session: 0x65, Call: 120 * time.Millisecond, Return: time.Second, Outcome: history.OK},
			"receives a grant without a token or a node, and the network traffic shows no node of session 0x65; acquire was called at 0.120 s", verdict.Lock},
		{"a grant with one", &history.Sample{Op: history.Acquire, Client: 1, Session: 0x65, Token: 5, Path: "/l/n-1", Call: 120 * time.Millisecond, Return: time.Second, Outcome: history.OK},
			"is granted token 5 by node n-1 of session 0x65; acquire was called at 0.120 s", verdict.Lock},
		{"a passage", &history.Sample{Op: history.Acquire, Client: 1, Token: 5, Path: "/l/n-1", Call: 120 * time.Millisecond, Return: time.Second, Outcome: history.OK},
			"passes the barrier; enter was called at 0.120 s", facts.Barrier},
		{"a leave", &history.Sample{Op: history.Release, Client: 1, Call: 120 * time.Millisecond, Return: time.Second, Outcome: history.OK},
			"calls leave, which returned at 1.000 s", facts.Barrier},
		{"an enter that failed", &history.Sample{Op: history.Acquire, Client: 1, Call: 120 * time.Millisecond, Return: time.Second, Outcome: history.Failed, Err: "cancelled"},
			"called enter at 0.120 s, without success: cancelled", facts.Barrier},
		{"an answer to a query", &history.Holds{Asked: time.Second, At: time.Second, Client: 1, Session: 0x65, Holds: true},
			"answers a query: it holds the grant", verdict.Lock},
		{"a pause", &history.Paused{Client: 1, Next: 2, Stopped: time.Second, Resumed: 3 * time.Second, Granted: 2 * time.Second},
			"held the grant while its process was paused from 1.000 s to 3.000 s; client 2 received its grant at 2.000 s; it was never notified that it no longer holds the grant", verdict.Lock},
		{"a deadline that passed", &history.Session{Event: history.Deadline, Client: 1, Session: 0x65},
			"had no reply for the whole timeout of session 0x65: from now on it cannot know whether it holds", verdict.Lock},
		{"a grant that ended", &history.Session{Event: history.Ended, Client: 1, Session: 0x65, Token: 5},
			"is notified that its grant with token 5 ended, although its session is alive", verdict.Lock},
		{"a killed client", &history.Session{Event: history.Killed, Client: 1, Session: 0x65}, "is killed by zkbench", verdict.Lock},
	} {
		if e, ok := eventOf(history.Numbered{N: 1, Record: row.record}, row.recipe); !ok || e.Who != "client 1" || e.What != row.want {
			t.Errorf("%s: %s %q, want %q", row.about, e.Who, e.What, row.want)
		}
	}
}
