package second

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// excuse is what the verdict grants with a session timeout of 4 s: timeout and a half,
// and a margin.
const excuse = 8 * time.Second

// invented makes a history of clients that hold in turn, some of them a little too
// early: at times within the call, at times beyond it, at times after a fault.
func invented(r *rand.Rand) *history.History {
	clients := 2 + r.IntN(5)
	var records []history.Record
	add := func(s history.Sample) { records = append(records, &s) }
	for c := range clients {
		records = append(records, &history.Session{Event: history.Opened, Client: c, Session: int64(c + 1), Timeout: 4 * time.Second})
	}
	hit := false // once: where two were hit, the search lets either be the one that lost its grant, the verdict only the elder
	busy := make([]time.Duration, clients)
	now := time.Second
	for i := range 2 + r.IntN(10) {
		c := r.IntN(clients)
		from := max(now+time.Duration(r.IntN(40)-8)*time.Millisecond, busy[c]+time.Millisecond)
		call := max(from-time.Duration(r.IntN(30))*time.Millisecond, busy[c])
		let := from + time.Duration(r.IntN(60))*time.Millisecond
		if r.IntN(6) == 0 && !hit {
			hit = true // a fault, and a holder that learns of it late, or very late
			w := history.Window{Fault: "session.close", Target: "client", Client: c, Start: from + (let-from)/2, End: from + (let-from)/2, Proof: "seen"}
			if r.IntN(2) == 0 { // of the member that serves it
				w.Fault, w.Client, w.Served = "partition.peers", -1, []int{c}
			}
			records = append(records, &w)
			now = w.End
			if r.IntN(2) == 0 { // it hears of a connection again, and is wrong about its session
				back := w.End + time.Duration(r.IntN(40))*time.Millisecond
				records = append(records, &history.Session{At: w.Start, Event: history.Suspended, Client: c, Session: int64(c + 1)},
					&history.Session{At: back, Event: history.Restored, Client: c, Session: int64(c + 1)})
			}
			let += time.Duration(r.IntN(3)) * 5 * time.Second
		} else {
			now = let
		}
		s := history.Sample{Client: c, Op: history.Acquire, Due: call, Call: call, Return: from, Outcome: history.OK,
			Token: int64(100 + i), Session: int64(c + 1), Path: "/l/n"}
		add(s)
		s.Op, s.Due, s.Call, s.Return = history.Release, let, let, let+time.Millisecond
		add(s)
		busy[c] = let + time.Millisecond
	}
	slices.SortStableFunc(records, func(a, b history.Record) int { return cmp.Compare(a.Time(), b.Time()) })
	return history.Of(history.Header{Trial: "invented", Cell: history.Cell{Subject: "lock/invented"}}, records...)
}

// search searches all beliefs of a history.
func search(h *history.History, excuse time.Duration) string {
	known := newKnown(h, excuse)
	var beliefs []facts.Belief
	tracker := facts.NewBeliefs(h.Header, func(b facts.Belief) { beliefs = append(beliefs, b) })
	var end time.Duration
	for n := range h.Records {
		end = max(end, n.Time())
		known.record(n)
		tracker.Add(n)
	}
	tracker.Close(end)
	return result(check(known.holds(beliefs), 10*time.Second, known.permits))
}

// exclusion is the verdict on mutual exclusion.
func exclusion(verdicts []verdict.Verdict) verdict.Verdict {
	return verdicts[slices.IndexFunc(verdicts, func(v verdict.Verdict) bool { return v.Guarantee == verdict.MutualExclusion })]
}

func result(r porcupine.CheckResult) string {
	return map[porcupine.CheckResult]string{porcupine.Ok: verdict.Pass, porcupine.Illegal: verdict.Fail, porcupine.Unknown: verdict.Unknown}[r]
}

func TestSearch_agreesWithTheVerdict(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 400
	}
	tally := map[string]int{}
	for seed := range rounds {
		h := invented(rand.New(rand.NewPCG(uint64(seed), 1)))
		first := exclusion(verdict.Judge(h))
		got := search(h, excuse)
		tally[got]++
		if got != first.Result {
			t.Errorf("seed %d: the verdict says %s (%v), the search says %s", seed, first.Result, first.Reasons, got)
		}
	}
	if tally[verdict.Pass] < rounds/10 || tally[verdict.Fail] < rounds/10 {
		t.Errorf("the histories are too much alike: %v", tally)
	}
}

// As many may hold at the same time as there are permits; a writer takes all.
func TestCheck_ofALockThatSeveralHold(t *testing.T) {
	held := func(id int, from, to time.Duration, permits int) hold {
		return hold{client: id, asked: from, from: from, mayEnd: to, mustEnd: to, permits: permits}
	}
	for _, row := range []struct {
		name    string
		permits int
		holds   []hold
		want    string
	}{
		{"two of two permits", 2, []hold{held(1, 0, 10, 1), held(2, 5, 15, 1), held(3, 11, 20, 1)}, verdict.Pass},
		{"three of two", 2, []hold{held(1, 0, 10, 1), held(2, 5, 15, 1), held(3, 8, 20, 1)}, verdict.Fail},
		{"readers", 100, []hold{held(1, 0, 10, 1), held(2, 5, 15, 1), held(3, 8, 20, 1)}, verdict.Pass},
		{"a writer after them", 100, []hold{held(1, 0, 10, 1), held(2, 5, 15, 1), held(3, 16, 20, 100)}, verdict.Pass},
		{"a writer beside a reader", 100, []hold{held(1, 0, 10, 1), held(2, 8, 15, 100)}, verdict.Fail},
	} {
		if got := result(check(row.holds, time.Second, row.permits)); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// A holder is not notified that an operator deleted its node.
func TestSearch_excusesAHolderWhoseNodeWasDeletedByAFault(t *testing.T) {
	for _, row := range []struct {
		operator int64
		want     string
	}{{900, verdict.Pass}, {0, verdict.Fail}} {
		h := history.Of(history.Header{Trial: "deleted", Cell: history.Cell{Subject: "lock/a"}},
			&history.Window{Fault: "node.delete", Client: 1, Start: 2 * time.Second, End: 3 * time.Second, Proof: "seen", Operator: row.operator},
			&history.Sample{Client: 1, Op: history.Acquire, Call: 0, Return: time.Second, Outcome: history.OK, Token: 10, Session: 101, Path: "/l/n"},
			&history.Sample{Client: 2, Op: history.Acquire, Call: 0, Return: 4 * time.Second, Outcome: history.OK, Token: 11, Session: 102, Path: "/l/m"},
			&history.Sample{Client: 1, Op: history.Release, Call: 5 * time.Second, Return: 6 * time.Second, Outcome: history.OK, Token: 10, Session: 101},
			&history.Sample{Client: 2, Op: history.Release, Call: 7 * time.Second, Return: 8 * time.Second, Outcome: history.OK, Token: 11, Session: 102},
		)
		h.HasCommits = true
		if got := search(h, 0); got != row.want {
			t.Errorf("operator %d: %s, want %s", row.operator, got, row.want)
		}
	}
}
