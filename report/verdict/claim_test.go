package verdict

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestClaimValidity(t *testing.T) {
	judgeStories(t, ClaimValidity, []row{
		{"a grant of the client's own session is valid",
			"opened 1 101; acquire 1 5 0 10; checked 1 5 101 0 11 12", Pass, "1 of 1 grants were checked"},
		{"what nobody has checked is unknown", "opened 1 101; acquire 1 5 0 10", Unknown, "no grant was checked"},
		{"a grant without a token cannot be checked",
			"opened 1 101; acquire 1 0 0 10", Unknown, "1 of 1 grants lack a node"},
		{"a grant that was asked for after the loss was delivered is invalid",
			"opened 1 101; session lost 1 5; acquire 1 5 6 10",
			Fail, "5ms after it was notified that session 0x65 had ended (record 2)"},
		{"a token that nobody named, and that the wire did not show, is no token 0",
			"opened 1 101; session lost 1 5; acquire 1 0 6 10",
			Fail, "client 1 was granted no token (the client did not report a token, and its traffic does not identify its node) at 10ms"},
		{"a grant that returned while the loss was being delivered is no proof",
			"opened 1 101; session lost 1 5; acquire 1 5 0 10", Unknown, "no grant was checked"},
		{"a grant that returned long after the loss is invalid",
			"opened 1 101; session lost 1 5; acquire 1 5 0 2000", Fail, "1.995s after"},
		{"a grant that is restored after it was suspended is the same",
			"opened 1 101; acquire 1 5 0 10; checked 1 5 101 0 11 12; session suspended 1 20; session restored 1 30",
			Pass, ""},
		{"one that is restored after it was lost is invalid",
			"opened 1 101; acquire 1 5 0 10; session suspended 1 20; session lost 1 30; session restored 1 31",
			Fail, "notified at 31ms (record 5) that its grant was restored, although it had been notified at 30ms (record 4) that the"},
		{"a session that was opened after a loss may be suspended and restored",
			"opened 1 101; acquire 1 5 0 10; checked 1 5 101 0 11 12; session suspended 1 20; session lost 1 30; " +
				"opened 1 102; session suspended 1 40; session restored 1 50", Pass, ""},
		{"a new session restores nothing of what was lost",
			"opened 1 101; acquire 1 5 0 10; session suspended 1 20; session lost 1 30; opened 1 102; " +
				"session restored 1 50", Fail, ") that the session was lost, which is final"},
		{"a grant of its own may be restored after another was lost",
			"opened 1 101; acquire 1 5 0 10; session lost 1 20; opened 1 102; acquire 1 6 30 40; " +
				"checked 1 6 102 0 41 42; session suspended 1 50; session restored 1 60", Pass, ""},
		{"a grant that names no session cannot be checked", "acquire 1 5 0 10; opened 2 7", Unknown, "lack a node"},
		{"no grant, no verdict", "opened 1 101; acquire 1 5 0 10 failed", Unknown, "nothing was granted"},
	})
}

// grantedIn is a story whose grants are of this session.
func grantedIn(t *testing.T, session int64, text string) *history.History {
	t.Helper()
	h := story(t, text)
	for n := range h.Records {
		if s, ok := n.Record.(*history.Sample); ok {
			s.Session = session
		}
	}
	return h
}

func TestClaimValidity_ofAGrantFromAnotherSession(t *testing.T) {
	h := grantedIn(t, 101, "opened 1 101; acquire 2 6 0 10")
	expect(t, h, ClaimValidity, Fail, "did not open a session on any of its own connections: it shares another client's")
	for _, c := range []struct {
		name     string
		session  int64
		returned int
		want     string
	}{
		{"a grant of a session long gone is not the client's own", 101, 9010, Fail},
		{"nor is one of the session before, long after the new one", 102, 9010, Fail},
		{"a grant of the session before may return while the new one opens", 102, 500, Unknown},
		{"a grant of the present session is the client's own", 103, 9010, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := grantedIn(t, c.session, fmt.Sprintf("opened 1 101; session expired 1 1; opened 1 102; session expired 1 2; opened 1 103; acquire 1 6 10 %d", c.returned))
			expect(t, h, ClaimValidity, c.want, "")
		})
	}
}

// A client may have several sessions at once, which zkbench does not expect.
func TestClaimValidity_ofAClientWithSeveralSessions(t *testing.T) {
	const reason = "client 1 claims a grant of session 0x65 (record 4), but its session is 0x66 (record 3): both are open, but a client must have one session"
	expect(t, grantedIn(t, 101, "opened 1 101; session deadline 1 1; opened 1 102; acquire 1 6 10 9010"), ClaimValidity, Unknown, reason)
	unnamed := acquired(1, 10, 10, second)
	unnamed.Session = 0
	judgeOne(t, ClaimValidity, list{opened(1, 101), opened(1, 102), created(101, 10), unnamed}, Fail, "session 0x65 created the granted node, another open session of the client")
	judgeOne(t, ClaimValidity, list{opened(1, 101), opened(2, 102), created(102, 10), unnamed}, Fail, "session 0x66 created the granted node")
}

func TestOwnershipQuery(t *testing.T) {
	lost := &history.Session{Event: history.Lost, Client: 1, Session: 101, At: second}
	answers := func(session int64, holds bool) []history.Record {
		return list{opened(1, 101), lost, &history.Holds{Asked: 2 * second, At: 2 * second, Client: 1, Session: session, Holds: holds}}
	}
	judgeOne(t, OwnershipQuery, answers(101, true), Fail, "client 1 answered at 2s that it holds the grant (record 3), 1s after it was notified that its session 0x65 was lost (record 2)")
	judgeOne(t, OwnershipQuery, answers(101, false), Pass, "1 answer")
	judgeOne(t, OwnershipQuery, answers(102, true), Pass, "") // of a later session
	judgeOne(t, OwnershipQuery, list{opened(1, 101), lost}, NotJudged, "no client that can report its ownership lost a grant")
}
