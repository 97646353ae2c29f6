package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// The session timeout of the stories is 4 s, so the limit is 4 + 2 + 2 = 8 s.
func TestProgress(t *testing.T) {
	const two = "opened 1 101; opened 2 102; "
	judgeStories(t, Progress, []row{
		{"who waits gets its turn", two + "hold 1 5 10 20; hold 2 6 25 30", Pass, ""},
		{"a long wait behind a holder is no lack of progress",
			two + "hold 1 5 10 60000; hold 2 6 60002 60010", Pass, ""},
		{"nobody held for longer than the limit while one waited",
			two + "hold 1 5 10 20; hold 2 6 9000 9010",
			Fail, "the lock was free from 20ms to 9s without a fault, for 8.98s, more than the limit of 8s, while client 2 waited (record 5)"},
		{"an idle time in which nobody waited is well",
			two + "hold 1 5 10 20; acquire 2 6 8999 9000; release 2 6 9010", Pass, ""},
		{"a failed acquire waited too",
			two + "hold 1 5 10 20; acquire 2 6 10 20000 failed", Fail, "client 2 waited (record 5)"},
		{"a fault excuses an idle time, and its aftermath too",
			two + "acquire 1 5 0 10; session killed 1 1000; fault session.freeze 1 1000 1100; hold 2 6 9050 9060; " +
				"acquire 1 7 30000 30001", Pass, ""},
		{"long after the fault the excuse is over",
			two + "acquire 1 5 0 10; session killed 1 1000; fault session.freeze 1 1000 1100; hold 2 6 17500 17600",
			Fail, "from 9.1s to 17.5s"},
		{"who is granted under faults that last all the time gets on",
			two + "fault slow -1 0 5000; acquire 1 5 10 20",
			Pass, "faults were active throughout; no client exceeded the wait limit, and"},
		{"who still waits when the trial ends has waited so far",
			two + "hold 1 5 10 20; waiting 2 acquire 5 9000", Fail, "while client 2 waited (record 5)"},
		{"acquires that fail at once, again and again, are one long wait",
			two + "hold 1 5 10 20; acquire 2 0 30 1000 failed; acquire 2 0 2000 4000 failed; " +
				"acquire 2 0 5000 7000 unknown; acquire 2 0 7001 9000 failed", Fail, "the lock was free from 30ms to 9s"},
		{"a client whose acquires all fail, while others are granted",
			two + "acquire 2 0 30 1000 failed; hold 1 5 4000 4100; acquire 2 0 2000 4000 failed; " +
				"acquire 1 6 4102 8000; release 1 6 8100; acquire 2 0 5000 8100 failed; acquire 1 7 8200 9000; " +
				"release 1 7 9100",
			Fail, "client 2's acquires failed 3 times in succession, from 30ms to 8.1s without a fault, more than the limit of 8s"},
		{"a client whose session zkbench closed three times, while it waited, was not refused",
			two + "acquire 1 5 0 10; session closed 2 1000; acquire 2 0 30 1001 failed; session opened 2 1100; " +
				"session closed 2 4000; acquire 2 0 2000 4001 failed; session opened 2 4100; session closed 2 9100; " +
				"acquire 2 0 5000 9101 failed; release 1 5 9300", Pass, ""},
		{"a client does not wait while zkbench closes it",
			two + "hold 1 5 10 20; session closed 2 3000; acquire 2 0 30 12000 failed canceled", Pass, ""},
		{"it waits before",
			two + "hold 1 5 10 20; session closed 2 9000; acquire 2 0 30 12000 failed canceled", Fail, "the lock was free from 30ms to 9s"},
		{"an episode in which not every client was granted again",
			two + "hold 1 5 10 20; snapshot 2000 3200 unserved",
			Unknown, "not every client was granted again after the fault (record"},
		{"a client that gave up as often was not refused",
			two + "acquire 2 0 30 1000 failed canceled; hold 1 5 4000 4100; acquire 2 0 2000 4000 failed canceled; " +
				"acquire 1 6 4102 8000; release 1 6 8100; acquire 2 0 5000 8100 failed canceled; acquire 1 7 8200 9000; " +
				"release 1 7 9100", Pass, ""},
		{"and so they are when one is granted in the end",
			two + "hold 1 5 10 20; acquire 2 0 30 4000 failed; acquire 2 0 4001 8000 failed; acquire 2 6 8001 9000; " +
				"release 2 6 9001", Fail, "the lock was free from 30ms to 9s"},
		{"a client that gives up, and comes back much later, has not waited meanwhile",
			two + "hold 1 5 10 20; acquire 2 0 30 3000 failed; acquire 2 6 8001 9000; release 2 6 9001", Pass, ""},
		{"an outage that lasts until the phase is over, whatever other phases show",
			two + "hold 1 5 10 20 in=one; phase one 0 30; phase two 30 20030 9000; fault partition -1 40 1000; " +
				"acquire 2 0 30 9001 failed in=two; phase three 9100 9900; acquire 1 7 9200 9300 in=three; " +
				"release 1 7 9400", Unknown, `in phase "two"`},
		{"a phase that is over before the limit is",
			two + "hold 1 5 10 20 in=one; phase one 0 5000; waiting 2 acquire 25 5000 in=one; " +
				"acquire 2 0 25 5001 failed in=one; phase two 5010 6000; acquire 2 6 5020 5030 in=two; release 2 6 5040",
			Unknown, `nothing was granted for the last 4.975s in phase "one", without a fault`},
		{"half of the limit is not over",
			two + "hold 1 5 10 20 in=one; phase one 0 4000; acquire 2 0 25 4001 failed in=one", Pass, ""},
		{"a fault was near when it was over",
			two + "hold 1 5 10 20 in=one; phase one 0 5000; fault partition -1 40 1000; " +
				"acquire 2 0 25 5001 failed in=one", Pass, ""},
		{"who has no session when it is over does not wait",
			two + "hold 1 5 10 20 in=one; session lost 2 30; phase one 0 5000", Pass, ""},
		{"one that ends before the phase is over",
			two + "hold 1 5 10 20 in=one; phase one 0 12000; fault partition -1 40 1000; acquire 2 7 30 9500 in=one; " +
				"release 2 7 11000", Pass, ""},
		{"all lose their sessions for the rest of the phase, without a fault",
			two + "hold 1 5 10 20 in=one; hold 2 6 30 40 in=one; session killed 1 2000; session killed 2 2000; " +
				"phase one 0 14000", Unknown, `nothing was granted for the last 12s in phase "one"`},
		{"one of them comes back in time",
			two + "hold 1 5 10 20 in=one; session lost 1 2000; session lost 2 2000; phase one 0 14000; opened 1 103; " +
				"acquire 1 6 13000 13010 in=one; release 1 6 13020", Pass, ""},
		{"one that closes its session, and nobody wants anything",
			two + "hold 1 5 10 20 in=one; session closed 1 13000; phase one 0 14000", Pass, ""},
		{"a phase in which nobody is granted, though others are",
			two + "hold 1 5 10 20 in=one; phase one 0 30; phase two 30 900; acquire 2 0 40 800 failed in=two",
			Unknown, `nothing was ever granted in phase "two"`},
		{"a phase in which one holds all the time",
			two + "acquire 1 5 0 10 in=one; phase one 0 30; phase two 30 900; acquire 2 0 40 800 failed in=two; " +
				"release 1 5 1000", Pass, ""},
		{"without a timeout nobody can say how long is too long", "acquire 1 5 10 20", Unknown, "session timeout is not in the history"},
		{"nothing granted is nothing shown", two, Unknown, "nothing was ever granted"},
	})
}

// Of a subject that says nothing of its holders it is not known that they hold on through an
// outage, until they let go.
func TestProgress_ofAHolderThatIsNotTold(t *testing.T) {
	silent := history.Header{Trial: "story", Recipe: Lock, Promises: history.Promises{Exclusive: true}}
	const outage = "opened 1 101; opened 2 102; acquire 1 5 0 10; fault partition -1 1000 3000; session deadline 1 5000; "
	judgePromised(t, Progress, silent, []row{
		{"it holds on", outage + "release 1 5 39000; acquire 2 6 20 40000; release 2 6 40010", Pass, ""},
		{"another that holds later does not excuse it", "opened 1 101; opened 2 102; fault partition -1 500 2000; session deadline 1 1000; acquire 2 5 20000 20010; release 2 5 20020; acquire 1 6 20015 60000; release 1 6 60010", Fail, "the lock was free from 20.02s to 1m0s"},
		{"it has no session any more", outage + "session expired 1 6000; release 1 5 39000; acquire 2 6 20 40000; release 2 6 40010", Fail, "the lock was free from 11s to 40s"},
	})
}

// A history gives the same reasons each time, whichever of its waiters they name.
func TestProgress_namesTheSameWaiterEachTime(t *testing.T) {
	var lines strings.Builder
	for client := range 9 {
		fmt.Fprintf(&lines, "opened %d %d; ", client, 101+client)
	}
	lines.WriteString("acquire 0 5 0 10; release 0 5 20; ")
	for client := 1; client < 9; client++ {
		fmt.Fprintf(&lines, "acquire %d 0 %d 30000 failed; ", client, 30+client)
	}
	h := story(t, lines.String())
	h.Header.Recipe, h.Header.Promises = Lock, fair
	first := verdictOf(h, Progress).Reasons
	if len(first) == 0 {
		t.Fatal("no reason")
	}
	for range 20 {
		if again := verdictOf(h, Progress).Reasons; !slices.Equal(again, first) {
			t.Fatalf("%q, at first %q", again, first)
		}
	}
}

// Who polls will ask again, however still the line is.
func TestProgress_ofWhoeverPolls(t *testing.T) {
	for variant, want := range map[string]string{Polling: Pass, Predecessor: Fail} {
		judgePromised(t, Progress, history.Header{Trial: "story", Recipe: Lock, Variant: variant, Promises: history.Promises{Exclusive: true, Events: true}}, []row{
			{variant, "opened 1 101; opened 2 102; acquire 1 5 0 10; release 1 5 20; snapshot 1100 2400 waiter=2:0:0:0; acquire 1 0 2450 2460 failed; acquire 2 6 30 3000; release 2 6 3010", want, ""},
		})
	}
}

// Operations that do not return fail whatever else the trial shows.
func TestProgress_ofOperationsThatDoNotReturn(t *testing.T) {
	tried := func(limit, took time.Duration) []history.Record {
		s := acquired(1, 10, 10, 20*second)
		s.Outcome, s.Limit, s.Call = history.Failed, limit, s.Return-took
		return list{opened(1, 101), s}
	}
	judgeOne(t, Progress, tried(2*second, 4*second), Fail, "client 1's acquire with a time limit of 2s returned after 4s (record 2)")
	judgeOne(t, Progress, tried(100*time.Millisecond, 1500*time.Millisecond), Unknown, "")
	early := tried(2*second, second)
	early[1].(*history.Sample).TimedOut = true
	judgeOne(t, Progress, early, Fail, "client 1's acquire with a time limit of 2s gave up after 1s (record 2)")
	for _, header := range []history.Header{{Trial: "t", Recipe: Lock, Promises: fair}, {Trial: "t", Recipe: Queue}} {
		op := map[string]string{Lock: history.Acquire, Queue: history.Take}[header.Recipe]
		s := operation(op, 1, 10, 10, 20*second)
		s.Outcome, s.Stuck = history.Failed, true
		judgeHeader(t, header, Progress, list{opened(1, 101), s}, Fail, "client 1 was notified that its session was lost during its "+op)
	}
}
