package verdict

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zkbench/report/history"
)

func believed(h *history.History) (out []Belief, late int) {
	var end time.Duration
	t := NewBeliefs(func(b Belief) { out = append(out, b) })
	for n, err := range h.Records {
		if err != nil {
			panic(err)
		}
		end = max(end, n.Time())
		t.Add(n)
	}
	t.Close(end)
	return out, t.Late
}

func TestBeliefsComeInOrderWithTheirEnds(t *testing.T) {
	got, late := believed(story(t, `
		opened 1 101
		opened 2 102
		acquire 2 6 0 30
		acquire 1 5 0 10
		note suspended 1 15
		note resumed 1 18
		release 1 5 20 21
		release 2 6 40 41
		acquire 1 7 30 50`))
	type short struct {
		client, start, end int
		ended              string
		resumed            bool
		record, endRecord  int
	}
	want := []short{
		{1, 10, 15, "suspended", false, 4, 5},
		{1, 18, 20, "released", true, 6, 7},
		{2, 30, 40, "released", false, 3, 8},
		{1, 50, 50, "end", false, 9, 0},
	}
	if len(got) != len(want) || late != 0 {
		t.Fatalf("got %d beliefs, %d late: %+v", len(got), late, got)
	}
	for i, b := range got {
		s := short{b.Client, int(b.Start.Milliseconds()), int(b.End.Milliseconds()), b.Ended, b.Resumed, b.Record, b.EndRecord}
		if s != want[i] {
			t.Errorf("belief %d is %+v, want %+v", i, s, want[i])
		}
	}
}

func TestBeliefsThatComeFarTooLateAreCounted(t *testing.T) {
	_, late := believed(story(t, `
		acquire 1 5 0 10000
		release 1 5 10001 10002
		acquire 2 6 0 60000
		release 2 6 60001 60002
		acquire 3 4 0 500
		release 3 4 501 502`))
	if late != 1 {
		t.Errorf("%d late, want 1", late)
	}
}

func TestBeliefsThatNobodyReleasedDoNotHoldUpTheOthersForEver(t *testing.T) {
	emitted := 0
	tracker := NewBeliefs(func(Belief) { emitted++ })
	h := story(t, "opened 1 101\nacquire 1 5 0 10\nnote killed 1 20")
	for n := range h.Records {
		tracker.Add(n)
	}
	for i := range 1000 {
		at := time.Duration(i) * time.Second
		tracker.Add(history.Numbered{N: i, Record: history.Record{Sample: &history.Sample{Op: history.Acquire, Client: 2,
			Outcome: history.OK, Token: int64(10 + i), Call: at, Return: at + 1}}})
		tracker.Add(history.Numbered{N: i, Record: history.Record{Sample: &history.Sample{Op: history.Release, Client: 2,
			Outcome: history.OK, Token: int64(10 + i), Call: at + 2, Return: at + 3}}})
	}
	if waiting := len(tracker.queue) - tracker.head; emitted < 900 || waiting > 100 {
		t.Errorf("%d handed on, %d wait", emitted, waiting)
	}
}

// A mutual exclusion that is judged by the sweep must agree with the definition:
// some pair of intervals overlaps.
func TestMutualExclusionAgreesWithItsDefinition(t *testing.T) {
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
			records = append(records, history.Record{Sample: &s}, history.Record{Sample: &r})
		}
		vs := Judge(history.Of(history.Header{}, records...))
		i := slices.IndexFunc(vs, func(v Verdict) bool { return v.Guarantee == MutualExclusion })
		if vs[i].Result != want {
			t.Fatalf("%v: got %s %q, want %s", holds, vs[i].Result, vs[i].Reasons, want)
		}
	})
}

// churn is a correct lock under load: cycles of acquire, write and release, 2000 a second.
func churn(cycles int) []history.Record {
	var out []history.Record
	at := time.Duration(0)
	for i := range cycles {
		s := history.Sample{Client: i % 100, Phase: "churn", Op: history.Acquire, Call: max(0, at-time.Millisecond), Due: at,
			Return: at + 10_000, Outcome: history.OK, Token: int64(i + 1), Session: 7, Path: "/n"}
		w, r := s, s
		w.Op, w.Call, w.Return, w.Version = history.Write, at+20_000, at+30_000, int64(i+1)
		r.Op, r.Call, r.Return = history.Release, at+40_000, at+90_000
		at += 500_000
		out = append(out, history.Record{Sample: &s}, history.Record{Sample: &w}, history.Record{Sample: &r})
	}
	return out
}

func BenchmarkJudge(b *testing.B) {
	opened := history.Record{Note: &history.Note{Kind: history.Opened, Client: 1, Session: 7, Timeout: 4 * time.Second}}
	h := history.Of(history.Header{}, append([]history.Record{opened}, churn(200_000)...)...)
	b.ReportAllocs()
	for b.Loop() {
		for _, v := range Judge(h) {
			if v.Result == Fail {
				b.Fatal(v)
			}
		}
	}
	b.ReportMetric(600_001*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkSweep is each checker alone: the tracking of beliefs and one verdict.
func BenchmarkSweep(b *testing.B) {
	records := churn(200_000)
	h := history.Of(history.Header{}, records...)
	for i, k := range NewCourt(h).checkers {
		if k.record == nil && k.belief == nil || k.name == "" || k.name == FanOut || k.name == NoPhantom {
			continue
		}
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				c := NewCourt(h)
				c.checkers = []checker{c.checkers[i]}
				for j, r := range records {
					c.Add(history.Numbered{N: j, Record: r})
				}
				c.Close(nil)
			}
			b.ReportMetric(float64(len(records))*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}
