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

// TestPack_coversTheWholeTrial: the page shows the end of a long trial as well as its beginning.
func TestPack_coversTheWholeTrial(t *testing.T) {
	line := longTrial()
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
	if len(got.Overlaps) != 50 || !strings.Contains(got.Summary, "50 of 402 overlaps") {
		t.Fatalf("%d overlaps, want 50 of 402: %s", len(got.Overlaps), got.Summary)
	}
	if o := got.Overlaps[0]; o.Exposure || o.Start != line.Holds[5991].Start {
		t.Errorf("the first is %v, want the violation", o)
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
		if len(got.Overlaps) > limit/4 {
			t.Fatalf("too many overlaps: %v", got.Overlaps)
		}
	})
}

// A subject that locks nothing at all must not blow the page up, nor take minutes.
func TestPack_ofOverlapsEverywhereIsSmall(t *testing.T) {
	line := &report.Trace{}
	for i := range 200_000 {
		at := time.Duration(i) * time.Millisecond
		line.Holds = append(line.Holds, report.Hold{Client: i % 50, Start: at, End: at + 5*time.Millisecond})
		line.Overlaps = append(line.Overlaps, verdict.Overlap{Older: i % 50, Newer: (i + 49) % 50, Start: at, End: at + 4*time.Millisecond})
	}
	got := limitTimeline(line, 1000)
	if len(got.Holds) > 1500 || len(got.Overlaps) > 250 || !strings.Contains(got.Summary, "250 of "+units.Plural(200_000, "overlap")) {
		t.Errorf("held %d, overlaps %d: %s", len(got.Holds), len(got.Overlaps), got.Summary)
	}
}
