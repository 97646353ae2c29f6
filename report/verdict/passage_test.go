package verdict

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

func newMeeting(clients int) *sharing {
	s := newSharing(facts.Barrier, 0, clients)
	s.header.Clients, s.header.Promises = clients, history.Promises{Exclusive: true, Events: true}
	return s
}

// leave adds a departure that was called at one second and returned at another; the node goes with
// the call.
func (s *sharing) leave(called, returned, client int) *sharing {
	s.at(called, "release", client, "")
	last := s.records[len(s.records)-1].(*history.Sample)
	last.Return = time.Duration(returned) * time.Second
	return s
}

func TestBarrier(t *testing.T) {
	entered := func() *sharing {
		return newMeeting(3).at(1, "join", 0, "").at(2, "join", 1, "").at(3, "join", 2, "")
	}
	all := func() *sharing { return entered().at(3, "grant", 0, "").at(3, "grant", 1, "").at(3, "grant", 2, "") }
	sound := all().leave(4, 6, 0).leave(5, 6, 1).leave(6, 6, 2)
	sound.judge(t, NoEarlyPassage, Pass, "3 passages were checked by the servers' commits")
	sound.judge(t, ClaimValidity, Pass, "")
	sound.judge(t, Progress, Pass, "")
	for _, of := range []string{MutualExclusion, FIFO, Fencing, Succession, WriterProgress} {
		sound.judge(t, of, "", "")
	}
	sound.header.Promises.Exclusive = false
	sound.judge(t, NoEarlyPassage, NotPromised, "")

	early := newMeeting(3).at(1, "join", 0, "").at(2, "join", 1, "").at(2, "grant", 0, "").at(3, "join", 2, "")
	early.judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 2s")
	early.at(3, "grant", 1, "").judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 2s")

	notified := func(at int) *sharing {
		s := newMeeting(3).at(1, "join", 0, "").at(2, "join", 1, "").at(at, "grant", 0, "")
		s.records[len(s.records)-1].(*history.Sample).Notified = true
		return s
	}
	notified(3).at(3, "join", 2, "").at(4, "grant", 2, "").judge(t, NoEarlyPassage, Pass, "")
	notified(3).at(4, "join", 2, "").at(5, "grant", 2, "").judge(t, NoEarlyPassage, Fail, "the last member of its generation called enter only at 4s")
	notified(3).judge(t, NoEarlyPassage, Fail, "3 members of its generation never had nodes at once")

	all().leave(4, 5, 0).leave(6, 7, 1).leave(6, 7, 2).judge(t, NoEarlyPassage, Fail, "client 0 had left the barrier at 5s")
	// One that died is not awaited, and one that came too late is not either.
	all().leave(4, 5, 0).at(4, "expire", 2, "").leave(5, 6, 1).judge(t, NoEarlyPassage, Pass, "")
	// A generation counts from its first member on: the last one's nodes are gone.
	sound = all().leave(4, 6, 0).leave(5, 6, 1).leave(6, 6, 2)
	sound.at(7, "join", 0, "").at(7, "grant", 0, "").judge(t, NoEarlyPassage, Fail, "client 0 passed the barrier at 7s")
}

// Without commits the calls show who has entered.
func TestBarrier_withoutCommits(t *testing.T) {
	story := func(records ...history.Record) []history.Record { return records }
	sample := func(op string, client, call, returned int) *history.Sample {
		return &history.Sample{Client: client, Op: op, Call: time.Duration(call) * time.Second, Return: time.Duration(returned) * time.Second,
			Outcome: history.OK, Session: int64(100 + client), Token: int64(10*call + client), Path: "/l/x"}
	}
	header := newMeeting(2).header
	judgeHeader(t, header, NoEarlyPassage, story(sample(history.Acquire, 0, 1, 2), sample(history.Acquire, 1, 2, 2),
		sample(history.Release, 0, 3, 4), sample(history.Release, 1, 4, 4)), Pass, "by the clients' calls")
	early := story(sample(history.Acquire, 0, 1, 2), sample(history.Acquire, 1, 3, 3))
	judgeHeader(t, header, NoEarlyPassage, early, Fail, "when at most 1 of 2 clients had called enter")
	judgeHeader(t, header, NoEarlyPassage, append(early, &history.Session{Event: history.Killed, Client: 1, Session: 101}), Unknown, "sessions had ended")
}

// All wait in enter, or one in leave although nobody is inside.
func TestBarrier_progress(t *testing.T) {
	wait := func(op string, client, from, to int) *history.Waiting {
		return &history.Waiting{At: time.Duration(to) * time.Second, Client: client, Op: op, Call: time.Duration(from) * time.Second}
	}
	header := newMeeting(2).header
	header.Params = map[string]string{"session_timeout": "4s"}
	passed := []history.Record{
		&history.Sample{Client: 0, Op: history.Acquire, Outcome: history.OK, Call: 0, Return: 1, Token: 1, Session: 100, Path: "/l/x"},
		&history.Sample{Client: 0, Op: history.Release, Outcome: history.OK, Call: 2, Return: 3, Token: 1, Session: 100, Path: "/l/x"},
	}
	for _, c := range []struct {
		waits  []history.Record
		result string
		reason string
	}{
		{[]history.Record{wait(history.Acquire, 0, 1, 30), wait(history.Acquire, 1, 5, 30)}, Fail, "all 2 clients waited to enter from 5s to 30s"},
		{[]history.Record{wait(history.Acquire, 0, 1, 30), wait(history.Acquire, 1, 28, 30)}, Pass, ""}, // one was missing
		{[]history.Record{wait(history.Release, 0, 1, 30)}, Fail, "client 0 waited to leave from 1s to 30s"},
	} {
		judgeHeader(t, header, Progress, append(passed, c.waits...), c.result, c.reason)
	}
}
