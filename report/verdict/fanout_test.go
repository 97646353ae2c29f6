package verdict

import (
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func TestFanOut(t *testing.T) {
	const grant = "opened 1 101; acquire 1 5 0 10; phase drain 100 900; "
	judgeStories(t, FanOut, []row{
		{"exactly the formula is well", grant + "fan 200 9 9", Pass, ""},
		{"one fewer is well, because watches coalesce", grant + "fan 200 8 9", Pass, ""},
		{"one more is a herd", grant + "fan 200 10 9", Fail, "10 notifications in 9 hand-offs, but the formula allows 9 (record 5)"},
		{"a round with a fault in force is not judged", grant + "fault freeze 1 150 160; fan 200 99 9", Unknown, "1 round counted, but none"},
		{"a fault of the phase before disturbs nothing", "opened 1 101; acquire 1 5 0 10; fault flap 1 10 20; phase churn 10 30; phase drain 20000 20900; fan 20200 10 9", Fail, "10 notifications"},
		{"a fault after the round disturbs nothing", grant + "fan 200 10 9; fault freeze 1 300 400", Fail, "10 notifications"},
		{"without a count nothing is judged", grant, NotJudged, "no round was counted"},
	})
}

// Where no round was counted, the declared variant says how many clients may be woken.
func TestFanOut_byTheVariant(t *testing.T) {
	effort := func(client int, calls, notifications, connections int64) history.Record {
		return &history.Effort{Phase: "churn", Client: client, Calls: calls, Notifications: notifications, Connections: connections}
	}
	churn := func(notifications int64) []history.Record {
		return list{effort(1, 10, notifications, 0), effort(2, 10, notifications, 1), effort(3, 10, notifications, 0)}
	}
	heartbeats := func(writes int64) []history.Record {
		return append(churn(20), &history.Effort{Phase: "churn", Client: 4, Calls: 1, Notifications: 100, Writes: writes})
	}
	for _, c := range []struct {
		name, variant  string
		records        []history.Record
		result, reason string
	}{
		{"a wake-up or two a call", Predecessor, churn(22), Pass, "no round was counted; the notifications of each phase are within the variant's limit"},
		{"more of them are a herd", Predecessor, churn(23), Fail, "69 notifications to 3 clients in phase churn, for 30 calls and 1 connections (record 3)"},
		{"each heartbeat of a holder notifies the next client", Predecessor, heartbeats(100), Pass, ""},
		{"more notifications than heartbeats", Predecessor, heartbeats(80), Fail, "160 notifications"},
		{"everybody at every change", Parent, churn(60), Pass, ""},
		{"more than everybody", Parent, churn(69), Fail, "cause at most 204"},
		{"nobody says whom its waiters watch", "", churn(1000), NotJudged, "no round was counted, and the subject declares no variant that limits the number of notified clients"},
		{"a faulty phase is judged, too", Predecessor, append(churn(23), &history.Window{Fault: "session.flap", Client: 1, End: second, Proof: "seen"}), Fail, "69 notifications"},
		{"phases are judged one by one", Predecessor, list{effort(1, 100, 0, 0), &history.Effort{Phase: "storm", Notifications: 9}}, Fail, "in phase storm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			judgeHeader(t, history.Header{Recipe: Lock, Variant: c.variant}, FanOut, c.records, c.result, c.reason)
		})
	}
}

// Of a subject without a formula rounds are counted, and nobody says how many are too many.
func TestFanOut_withoutAFormula(t *testing.T) {
	round := list{&history.Traffic{Phase: "stream", Of: history.OfFlap, Round: 1, At: second, Count: 3, Notifications: 9}}
	judgeHeader(t, history.Header{Recipe: Queue}, FanOut, round, NotJudged, "no formula")
	judgeHeader(t, history.Header{Recipe: Queue, Formulas: map[string]string{"stream": "n"}}, FanOut, round, Unknown, "formula's value")
}

// A subject that says of itself that it polls may do so at a rate.
func TestBusyLoop_ofASubjectThatPolls(t *testing.T) {
	polls := func(requests int64) []history.Record {
		return list{&history.PhaseStart{Name: "churn", At: second}, &history.Effort{Phase: "churn", At: 11 * second, Requests: requests}}
	}
	judgeHeader(t, history.Header{Recipe: Lock, Variant: Polling}, BusyLoop, polls(1040), Pass, "")
	judgeHeader(t, history.Header{Recipe: Lock, Variant: Polling}, BusyLoop, polls(1041), Fail, "more than 1040")
	judgeHeader(t, history.Header{Recipe: Lock, Variant: Predecessor}, BusyLoop, polls(1040), Fail, "more than 90")
	judgeHeader(t, history.Header{Recipe: Lock, Variant: Predecessor}, BusyLoop, polls(90), Pass, "") // it checks its place now and then
	reads := list{&history.Effort{Phase: "churn", Calls: 1, Notifications: 30, Requests: 626}}        // of all 20 candidates
	judgeHeader(t, history.Header{Recipe: Election, Variant: Parent, Cell: history.Cell{Clients: 20}}, BusyLoop, reads, Pass, "")
	judgeHeader(t, history.Header{Recipe: Election, Variant: Parent, Cell: history.Cell{Clients: 3}}, BusyLoop, reads, Fail, "")
	heartbeats := list{&history.Effort{Phase: "churn", At: 11 * second, Requests: 1040, Writes: 1000}}
	judgeHeader(t, history.Header{Recipe: Lock, Variant: Predecessor}, BusyLoop, heartbeats, Pass, "")
}

// A line of one hands nothing on.
func TestFanOut_ofALineOfOne(t *testing.T) {
	round := list{&history.Traffic{Phase: "drain", Of: history.OfHandoff, Round: 1, At: second, ExpectedNotifications: new(int64(0)), ServerNotifications: new(int64(0))}}
	judgeHeader(t, history.Header{Recipe: Lock, Formulas: map[string]string{"x": "y"}}, FanOut, round, NotJudged, "no round had a hand-off")
	judgeHeader(t, history.Header{Recipe: Lock}, NotificationCount, round, NotJudged, "no client was notified: there was nothing to count")
}

func TestLossNotification(t *testing.T) {
	const held = "opened 0 7; acquire 0 5 0 0; "
	judgeStories(t, LossNotification, []row{
		{"a holder is notified of the loss", held + "session expired 0 100; session lost 0 200; ", Pass, "1 holder notified"},
		{"it was notified of the suspension before", held + "session suspended 0 50; session expired 0 100; opened 1 8 4000 20000; ", Pass, "1 holder notified"},
		{"it is never notified", held + "session expired 0 100; opened 1 8 4000 20000; ", Fail, "client 0 held a grant of session 0x7"},
		{"it is told that it is restored instead", held + "session suspended 0 50; session restored 0 60; session expired 0 100; opened 1 8 4000 20000; ", Fail, "client 0"},
		{"it releases in time", held + "session expired 0 100; release 0 5 300; opened 1 8 4000 20000; ", NotJudged, "no holder's session ended"},
		{"a waiter holds nothing", "opened 0 7; session expired 0 100; opened 1 8 4000 20000; ", NotJudged, ""},
	})
}
