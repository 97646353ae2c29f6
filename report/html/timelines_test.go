package html

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zkbench/zkbench/report/plot"
)

// longTrial is 6000 grants in turn, of about 20 ms each, 1 to 3 ms apart.
func longTrial() plot.Timeline {
	r := rand.New(rand.NewPCG(1, 2))
	t := plot.Timeline{Trial: "x", Label: "x", Clients: 10}
	now := time.Second
	for i := range 6000 {
		end := now + 20*time.Millisecond + time.Duration(r.IntN(1000))*time.Microsecond
		t.Beliefs = append(t.Beliefs, plot.Belief{Client: i % 10, Start: now, End: end})
		now = end + time.Millisecond + time.Duration(r.IntN(2000))*time.Microsecond
	}
	return t
}

// delay moves everything from the nth grant on.
func delay(t plot.Timeline, n int, by time.Duration) {
	for i := n; i < len(t.Beliefs); i++ {
		t.Beliefs[i].Start += by
		t.Beliefs[i].End += by
	}
}

func holds(got timeline, b plot.Belief) bool {
	return slices.Contains(got.Held, [3]int64{int64(b.Client), b.Start.Microseconds(), b.End.Microseconds()})
}

// TestPack_wholeTrial: the page shows the end of a long trial as well as its beginning,
// and in it what stands out.
func TestPack_wholeTrial(t *testing.T) {
	line := longTrial()
	line.Beliefs[4000].End += 3 * time.Second
	delay(line, 4001, 3*time.Second)
	delay(line, 5500, 7*time.Second) // nobody holds
	got := pack(line, 300)
	if len(got.Held) != 300 || got.Left != 5700 {
		t.Errorf("%d grants and %d left out, want 300 and 5700", len(got.Held), got.Left)
	}
	parts := make([]int, 10)
	for _, h := range got.Held {
		parts[min(9, int(10*(h[1]-got.From)/(got.To-got.From)))]++
	}
	if slices.Min(parts) < 15 || slices.Max(parts) > 45 {
		t.Errorf("grants by tenth of the trial: %v, want about as many in each", parts)
	}
	for i, why := range map[int]string{4000: "the longest grant", 5499: "the last before the longest gap", 5500: "the first after it"} {
		if !holds(got, line.Beliefs[i]) {
			t.Errorf("%s was left out", why)
		}
	}
	if last := line.Beliefs[5999].End.Microseconds(); got.From != 1e6 || got.To != last {
		t.Errorf("it goes from %d to %d, want the whole trial to %d", got.From, got.To, last)
	}
	if again := pack(line, 300); !reflect.DeepEqual(got, again) {
		t.Error("packed again, it differs")
	}
}

// TestPack_overlapsByWeight: the one violation of a trial is at its end, after more
// exposures than can be listed.
func TestPack_overlapsByWeight(t *testing.T) {
	line := longTrial()
	overlap := func(i int, by time.Duration, exposure bool) {
		line.Beliefs[i].End = line.Beliefs[i+1].Start + by
		line.Overlaps = append(line.Overlaps, plot.Overlap{Clients: [2]int{i % 10, (i + 1) % 10}, Start: line.Beliefs[i+1].Start, End: line.Beliefs[i].End, Exposure: exposure})
	}
	for i := range 400 {
		overlap(10*i, time.Millisecond, true)
	}
	overlap(5000, 10*time.Millisecond, true)
	overlap(5990, time.Microsecond, false)
	got := pack(line, 200)
	if len(got.Overlaps) != 50 || got.LeftOverlaps != 352 {
		t.Fatalf("%d overlaps, %d left out, want 50 and 352", len(got.Overlaps), got.LeftOverlaps)
	}
	if o := got.Overlaps[49]; o[4] != 0 || o[2] != line.Beliefs[5991].Start.Microseconds() {
		t.Errorf("the last is %v, want the violation", o)
	}
	if o := got.Overlaps[48]; o[2] != line.Beliefs[5001].Start.Microseconds() {
		t.Errorf("before it stands %v, want the longest exposure", o)
	}
	for _, i := range []int{5000, 5001, 5990, 5991} {
		if !holds(got, line.Beliefs[i]) {
			t.Errorf("grant %d of a listed overlap was left out", i)
		}
	}
}

func TestPack_windowsByLength(t *testing.T) {
	line := longTrial()
	for i := range 200 {
		at := time.Duration(i) * 100 * time.Millisecond
		line.Windows = append(line.Windows, plot.Window{Fault: "session.close", Start: at, End: at + time.Millisecond})
	}
	line.Windows = append(line.Windows, plot.Window{Fault: "partition.isolate", Start: 50 * time.Second, End: 60 * time.Second})
	got := pack(line, 100)
	if len(got.Windows) != 50 || got.LeftWindows != 151 || got.Windows[49].Fault != "partition.isolate" {
		t.Errorf("%d windows, %d left out, the last %+v; want 50, 151 and the longest at its place in time", len(got.Windows), got.LeftWindows, got.Windows[len(got.Windows)-1])
	}
}

// TestPack_anything: whatever the grants, the kept ones are some of them, in order,
// few enough, and the rest is counted.
func TestPack_anything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := plot.Timeline{}
		at := time.Duration(0)
		for range rapid.IntRange(0, 400).Draw(t, "grants") {
			at += time.Duration(rapid.SampledFrom([]int{0, 1, 3, 500}).Draw(t, "step")) * time.Millisecond
			b := plot.Belief{Client: rapid.IntRange(0, 3).Draw(t, "client"), Start: at, End: at + time.Duration(rapid.IntRange(0, 9).Draw(t, "length"))*time.Millisecond}
			line.Beliefs = append(line.Beliefs, b)
			if n := len(line.Beliefs); n > 1 && rapid.Bool().Draw(t, "overlap") {
				line.Overlaps = append(line.Overlaps, plot.Overlap{Clients: [2]int{line.Beliefs[n-2].Client, b.Client}, Start: at, End: at + time.Millisecond, Exposure: n%2 == 0})
			}
		}
		limit := rapid.IntRange(0, 300).Draw(t, "limit")
		got := pack(line, limit)
		if len(got.Held) > limit || len(got.Held) != min(limit, len(line.Beliefs)) || got.Left != len(line.Beliefs)-len(got.Held) {
			t.Fatalf("%d of %d grants with a limit of %d, %d left out", len(got.Held), len(line.Beliefs), limit, got.Left)
		}
		rest := line.Beliefs
		for _, h := range got.Held {
			i := slices.IndexFunc(rest, func(b plot.Belief) bool {
				return h == [3]int64{int64(b.Client), b.Start.Microseconds(), b.End.Microseconds()}
			})
			if i < 0 {
				t.Fatalf("%v is not one of the grants, or out of order", h)
			}
			rest = rest[i+1:]
		}
		if !slices.IsSortedFunc(got.Overlaps, func(a, b [5]int64) int { return int(a[2] - b[2]) }) || len(got.Overlaps) > limit/4 {
			t.Fatalf("overlaps out of order, or too many: %v", got.Overlaps)
		}
	})
}
