package view

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// longTrial is 6000 grants in turn, of about 20 ms each, 1 to 3 ms apart.
func longTrial() *report.Trace {
	r := rand.New(rand.NewPCG(1, 2))
	t := &report.Trace{}
	now := time.Second
	for i := range 6000 {
		end := now + 20*time.Millisecond + time.Duration(r.IntN(1000))*time.Microsecond
		t.Holds = append(t.Holds, report.Hold{Client: i % 10, Start: now, End: end})
		now = end + time.Millisecond + time.Duration(r.IntN(2000))*time.Microsecond
	}
	return t
}

// delay moves everything from the nth grant on.
func delay(t *report.Trace, n int, by time.Duration) {
	for i := n; i < len(t.Holds); i++ {
		t.Holds[i].Start += by
		t.Holds[i].End += by
	}
}

func holds(got Timeline, b report.Hold) bool {
	return slices.Contains(got.Holds, b)
}

// TestPack_coversTheWholeTrial: the page shows the end of a long trial as well as its beginning,
// and in it what stands out.
func TestPack_coversTheWholeTrial(t *testing.T) {
	line := longTrial()
	line.Holds[4000].End += 3 * time.Second
	delay(line, 4001, 3*time.Second)
	delay(line, 5500, 7*time.Second) // nobody holds
	got := limitTimeline(line, 300)
	if len(got.Holds) != 300 || len(line.Holds) != 6000 {
		t.Errorf("%d grants of %d, want 300 of 6000", len(got.Holds), len(line.Holds))
	}
	parts := make([]int, 10)
	for _, h := range got.Holds {
		parts[min(9, int(10*(h.Start-got.From)/(got.To-got.From)))]++
	}
	if slices.Min(parts) < 15 || slices.Max(parts) > 45 {
		t.Errorf("grants by tenth of the trial: %v, want about as many in each", parts)
	}
	for i, why := range map[int]string{4000: "the longest grant", 5499: "the last before the longest gap", 5500: "the first after it"} {
		if !holds(got, line.Holds[i]) {
			t.Errorf("%s was left out", why)
		}
	}
	if last := line.Holds[5999].End; got.From != time.Second || got.To != last {
		t.Errorf("it goes from %v to %v, want the whole trial to %v", got.From, got.To, last)
	}
	if again := limitTimeline(line, 300); !reflect.DeepEqual(got, again) {
		t.Error("packed again, it differs")
	}
}

// TestPack_keepsViolationsBeforeExposures: the one violation of a trial is at its end, after more
// exposures than can be listed.
func TestPack_keepsViolationsBeforeExposures(t *testing.T) {
	line := longTrial()
	overlap := func(i int, by time.Duration, exposure bool) {
		line.Holds[i].End = line.Holds[i+1].Start + by
		line.Overlaps = append(line.Overlaps, verdict.Overlap{Older: i % 10, Newer: (i + 1) % 10, Start: line.Holds[i+1].Start, End: line.Holds[i].End, Exposure: exposure})
	}
	for i := range 400 {
		overlap(10*i, time.Millisecond, true)
	}
	overlap(5000, 10*time.Millisecond, true)
	overlap(5990, time.Microsecond, false)
	got := limitTimeline(line, 200)
	if len(got.Overlaps) != 50 || !strings.Contains(got.Says, "352 overlaps") {
		t.Fatalf("%d overlaps, want 50, and 352 left out: %s", len(got.Overlaps), got.Says)
	}
	if o := got.Overlaps[49]; o.Exposure || o.Start != line.Holds[5991].Start {
		t.Errorf("the last is %v, want the violation", o)
	}
	if o := got.Overlaps[48]; o.Start != line.Holds[5001].Start {
		t.Errorf("before it stands %v, want the longest exposure", o)
	}
	for _, i := range []int{5000, 5001, 5990, 5991} {
		if !holds(got, line.Holds[i]) {
			t.Errorf("grant %d of a listed overlap was left out", i)
		}
	}
}

func TestPack_keepsTheLongestFaults(t *testing.T) {
	line := longTrial()
	for i := range 200 {
		at := time.Duration(i) * 100 * time.Millisecond
		line.Faults = append(line.Faults, report.Fault{Fault: "session.close", Start: at, End: at + time.Millisecond})
	}
	line.Faults = append(line.Faults, report.Fault{Fault: "partition.isolate", Start: 50 * time.Second, End: 60 * time.Second})
	got := limitTimeline(line, 100)
	if len(got.Faults) != 50 || !strings.Contains(got.Says, "151 faults") || got.Faults[49].Fault != "partition.isolate" {
		t.Errorf("%d windows, the last %+v; want 50, the longest at its place in time, and 151 left out: %s", len(got.Faults), got.Faults[len(got.Faults)-1], got.Says)
	}
}

// TestPack_keepsSomeInOrderAndFewEnough: whatever the grants, the kept ones are some of them, in order,
// few enough, and the rest is counted.
func TestPack_keepsSomeInOrderAndFewEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := &report.Trace{}
		at := time.Duration(0)
		for range rapid.IntRange(0, 400).Draw(t, "grants") {
			at += time.Duration(rapid.SampledFrom([]int{0, 1, 3, 500}).Draw(t, "step")) * time.Millisecond
			b := report.Hold{Client: rapid.IntRange(0, 3).Draw(t, "client"), Start: at, End: at + time.Duration(rapid.IntRange(0, 9).Draw(t, "length"))*time.Millisecond}
			line.Holds = append(line.Holds, b)
			if n := len(line.Holds); n > 1 && rapid.Bool().Draw(t, "overlap") {
				line.Overlaps = append(line.Overlaps, verdict.Overlap{Older: line.Holds[n-2].Client, Newer: b.Client, Start: at, End: at + time.Millisecond, Exposure: n%2 == 0})
			}
		}
		limit := rapid.IntRange(0, 300).Draw(t, "limit")
		got := limitTimeline(line, limit)
		if len(got.Holds) > limit || len(got.Holds) != min(limit, len(line.Holds)) {
			t.Fatalf("%d of %d grants with a limit of %d", len(got.Holds), len(line.Holds), limit)
		}
		rest := line.Holds
		for _, h := range got.Holds {
			i := slices.IndexFunc(rest, func(b report.Hold) bool { return h == b })
			if i < 0 {
				t.Fatalf("%v is not one of the grants, or out of order", h)
			}
			rest = rest[i+1:]
		}
		if !slices.IsSortedFunc(got.Overlaps, func(a, b verdict.Overlap) int { return int(a.Start - b.Start) }) || len(got.Overlaps) > limit/4 {
			t.Fatalf("overlaps out of order, or too many: %v", got.Overlaps)
		}
	})
}

// trialOf invents a trial of clients that hold in turn: so many grants, a fault now and
// then, and two holders at once near the end.
func trialOf(clients, grants int) *report.Trace {
	line := &report.Trace{}
	now := time.Second
	for i := range grants {
		wait := time.Duration(1+i*7919%13) * time.Millisecond
		if i%50 == 30 {
			wait += 400 * time.Millisecond
			line.Faults = append(line.Faults, report.Fault{Fault: "session.close", Target: "client </script><b>", Start: now, End: now + time.Millisecond, Proof: map[bool]string{true: "seen"}[i%100 == 30]})
		}
		now += wait
		line.Handoffs = append(line.Handoffs, metrics.Handoff{At: now, Latency: wait, Failover: i%50 == 30})
		line.Holds = append(line.Holds, report.Hold{Client: i * 3 % clients, Start: now, End: now + 20*time.Millisecond})
		if i == grants-5 {
			line.Holds[i].End += 18 * time.Millisecond
		}
		if i == grants-4 {
			line.Overlaps = append(line.Overlaps, verdict.Overlap{Older: (i - 1) * 3 % clients, Newer: i * 3 % clients, Start: now, End: line.Holds[i-1].End})
		}
		now += 20 * time.Millisecond
	}
	return line
}

func TestPack_keepsTheGrantsOfAnOverlap(t *testing.T) {
	line := trialOf(5, 200)
	got := limitTimeline(line, 50)
	if len(got.Overlaps) != 1 || len(got.Holds) == 200 {
		t.Fatalf("overlaps %d, held %d", len(got.Overlaps), len(got.Holds))
	}
	kept := 0
	for _, h := range got.Holds {
		if o := got.Overlaps[0]; (h.Client == o.Older || h.Client == o.Newer) && h.Start < o.End && o.Start < h.End {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d of the two overlapping grants were kept", kept)
	}
}

// A subject that locks nothing at all must not blow
// the page up, nor take minutes.
func TestPack_ofOverlapsEverywhereIsSmallAndQuick(t *testing.T) {
	line := &report.Trace{}
	for i := range 200_000 {
		at := time.Duration(i) * time.Millisecond
		line.Holds = append(line.Holds, report.Hold{Client: i % 50, Start: at, End: at + 5*time.Millisecond})
		line.Overlaps = append(line.Overlaps, verdict.Overlap{Older: i % 50, Newer: (i + 49) % 50, Start: at, End: at + 4*time.Millisecond})
	}
	start := time.Now()
	got := limitTimeline(line, 1000)
	if len(got.Holds) > 1500 || len(got.Overlaps) > 250 || !strings.Contains(got.Says, units.Plural(200_000-250, "overlap")) {
		t.Errorf("held %d, overlaps %d: %s", len(got.Holds), len(got.Overlaps), got.Says)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// A still picture is around the first violation, else the first fault.
func TestStill_isWhereItMatters(t *testing.T) {
	line := trialOf(20, 900)
	in := func(c explain.Chart, at time.Duration) bool { return c.From <= at && at <= c.To }
	if c := printChart(line); !in(c, line.Overlaps[0].Start) || len(c.Lanes) > stillLanes+1 {
		t.Errorf("from %v to %v, %d lanes; want the overlap at %v in it", c.From, c.To, len(c.Lanes), line.Overlaps[0].Start)
	}
	line.Overlaps = append([]verdict.Overlap{{Start: line.Holds[9].Start, End: line.Holds[9].End, Exposure: true}}, line.Overlaps...)
	if c := printChart(line); !in(c, line.Overlaps[1].Start) {
		t.Errorf("from %v to %v, without the violation at %v, which goes before exposure", c.From, c.To, line.Overlaps[1].Start)
	}
	line.Overlaps = nil
	if c := printChart(line); !in(c, line.Faults[0].Start) {
		t.Errorf("from %v to %v, without the first fault at %v", c.From, c.To, line.Faults[0].Start)
	}
	if c := printChart(trialOf(5, 15)); len(c.Lanes) != 5 {
		t.Errorf("%d lanes of 5 clients", len(c.Lanes))
	}
}

// Nobody leads from the end of one term until the next, in each round for itself.
func TestGaps_areWithinARound(t *testing.T) {
	s := time.Second
	line := &report.Trace{
		Rounds: []report.Round{{Phase: "close", Waiters: []report.Waiter{{Client: 1, From: 0, To: 2 * s, Left: true}, {Client: 2, From: 0, To: 5 * s}}, End: 5 * s}, {Phase: "lose", Waiters: []report.Waiter{{Client: 1, From: 10 * s, To: 14 * s}}, End: 14 * s}},
		Holds:  []report.Hold{{Client: 1, Start: s, End: 2 * s}, {Client: 2, Start: 3 * s, End: 5 * s}, {Client: 1, Start: 11 * s, End: 12 * s}, {Client: 1, Start: 11 * s, End: 14 * s}},
	}
	if got, want := gapsOf(line), []Gap{{2 * s, 3 * s}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if says := limitTimeline(line, 100).Says; !strings.Contains(says, "2 rounds, without a leader for 1.00 s in total") {
		t.Error(says)
	}
}
