package verdict

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"pgregory.net/rapid"
)

func believed(h *history.History) (out []facts.Belief, late int) {
	var end time.Duration
	t := facts.NewBeliefs(history.Header{}, func(b facts.Belief) { out = append(out, b) })
	for n, err := range h.Records {
		if err != nil {
			panic(err)
		}
		end = max(end, n.Time())
		t.Add(n)
	}
	t.Close(end)
	return out, t.LateRecords
}

func TestBeliefs_comeInOrderWithTheirEnds(t *testing.T) {
	got, late := believed(story(t, "opened 1 101; opened 2 102; acquire 2 6 0 30; acquire 1 5 0 10; session suspended 1 15; "+
		"session restored 1 18; release 1 5 20; release 2 6 40; acquire 1 7 30 50"))
	type short struct {
		client, start, end int
		ended              string
		restored           bool
		record, endRecord  int
	}
	want := []short{
		{1, 10, 15, "suspended", false, 4, 5},
		{1, 18, 20, "released", true, 6, 7},
		{2, 30, 40, "released", false, 3, 8},
		{1, 50, 50, "end", false, 9, 0},
	}
	var all []short
	for _, b := range got {
		all = append(all, short{b.Client, int(b.Start.Milliseconds()), int(b.End.Milliseconds()), b.EndReason, b.Restored, b.Record, b.EndRecord})
	}
	if !slices.Equal(all, want) || late != 0 {
		t.Errorf("got %+v and %d late, want %+v", all, late, want)
	}
}

func TestBeliefs_thatNobodyReleasedDoNotHoldUpTheOthersForEver(t *testing.T) {
	emitted := 0
	tracker := facts.NewBeliefs(history.Header{}, func(facts.Belief) { emitted++ })
	h := story(t, "opened 1 101; acquire 1 5 0 10; session killed 1 20")
	for n := range h.Records {
		tracker.Add(n)
	}
	for i := range 1000 {
		at := time.Duration(i) * time.Second
		tracker.Add(history.Numbered{N: i, Record: &history.Sample{Op: history.Acquire, Client: 2,
			Outcome: history.OK, Token: int64(10 + i), Call: at, Return: at + 1}})
		tracker.Add(history.Numbered{N: i, Record: &history.Sample{Op: history.Release, Client: 2,
			Outcome: history.OK, Token: int64(10 + i), Call: at + 2, Return: at + 3}})
	}
	if waiting := len(tracker.Pending); emitted < 900 || waiting > 100 {
		t.Errorf("%d handed on, %d wait", emitted, waiting)
	}
}

// A mutual exclusion that is judged by the sweep must agree with the definition:
// some pair of intervals overlaps.
func TestMutualExclusion_agreesWithItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type hold struct{ start, end time.Duration }
		holds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hold {
			start := rapid.IntRange(0, 60).Draw(t, "start")
			return hold{time.Duration(start), time.Duration(start + rapid.IntRange(0, 6).Draw(t, "for"))}
		}), 2, 12).Draw(t, "holds")
		var records []history.Record
		want := Pass
		for i, a := range holds {
			for _, b := range holds[:i] {
				if max(a.start, b.start) < min(a.end, b.end) {
					want = Fail
				}
			}
			s := history.Sample{Client: i, Op: history.Acquire, Outcome: history.OK, Token: int64(i + 1), Return: a.start}
			r := history.Sample{Client: i, Op: history.Release, Outcome: history.OK, Token: int64(i + 1), Call: a.end, Return: a.end + 1}
			records = append(records, &s, &r)
		}
		if v := verdictOf(history.Of(history.Header{}, records...), MutualExclusion); v.Result != want {
			t.Fatalf("%v: got %s %q, want %s", holds, v.Result, v.Reasons, want)
		}
	})
}

// The deadline of its session ends the belief of a subject that promises to stop then, and
// of one that hears of nothing; the servers' word on the wire only the latter's.
func TestBeliefs_endWithTheSessionWhereNobodyIsTold(t *testing.T) {
	for _, c := range []struct {
		name     string
		event    history.SessionEvent
		promises history.Promises
		end      int
	}{
		{"it promises to stop", history.Deadline, history.Promises{Deadline: true, Events: true}, 20},
		{"it hears of its session, and promises nothing else", history.Deadline, history.Promises{Events: true}, 30},
		{"it hears of nothing", history.Deadline, history.Promises{}, 20},
		{"it hears of nothing, and the servers say that its session is gone", history.Expired, history.Promises{}, 20},
		{"it should have been told that it is gone", history.Expired, history.Promises{Events: true}, 30},
	} {
		h := story(t, fmt.Sprintf("opened 1 101; acquire 1 5 0 10; session %s 1 20; release 1 5 30", c.event))
		tracker := facts.NewBeliefs(history.Header{Recipe: Lock, Promises: c.promises}, func(b facts.Belief) {
			if want := time.Duration(c.end) * time.Millisecond; b.End != want {
				t.Errorf("%s: it believes until %v, want %v", c.name, b.End, want)
			}
		})
		for n := range h.Records {
			tracker.Add(n)
		}
		tracker.Close(second)
	}
}
