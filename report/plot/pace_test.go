package plot

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

// pace invents a phase in which so much is done in each slice.
func pace(from, to time.Duration, done func(k int) int) report.PhaseThroughput {
	p := report.PhaseThroughput{Start: from, End: to}
	for k := range int((to - from + report.PaceWidth/2) / report.PaceWidth) {
		p.Counts = append(p.Counts, done(k))
	}
	return p
}

// samplePaces invents a calm phase and one in which a fault stops everything for two
// seconds.
func samplePaces() Timeline {
	return Timeline{Trial: "churn-lock-predecessor-20", Label: "lock/predecessor", Clients: 20, Trace: &report.Trace{Throughputs: []report.PhaseThroughput{
		pace(2*time.Second, 8030*time.Millisecond, func(k int) int { return 35 + k*13%11 }),
		pace(9*time.Second, 19*time.Second, func(k int) int {
			if k > 30 && k < 50 {
				return 0
			}
			return 30 + k*7%13
		}),
	}, Faults: []report.Fault{
		{Fault: "session.close", Target: "client 3", Start: time.Second, End: 1001 * time.Millisecond, Proof: "seen"}, // before the phases
		{Fault: "partition.isolate", Target: "zk2 (leader)", Start: 12 * time.Second, End: 14 * time.Second, Proof: "seen"},
	}}}
}

// sampleDeliveries invents a queue of which a fault holds up the items.
func sampleDeliveries() Timeline {
	t := Timeline{Trial: "queue-queue-predecessor-10", Label: "queue/predecessor", Clients: 10, Trace: &report.Trace{Queue: true,
		Faults: []report.Fault{{Fault: "session.close", Target: "client 3", Start: 6 * time.Second, End: 7 * time.Second, Proof: "seen"}}}}
	for i := range 500 {
		due := time.Duration(i) * 20 * time.Millisecond
		wait := 2*time.Millisecond + time.Duration(i*7919%1000)*time.Microsecond
		if due > 6*time.Second && due < 7*time.Second {
			wait += 7*time.Second - due
		}
		t.Handoffs = append(t.Handoffs, metrics.Handoff{At: due + wait, Latency: wait})
	}
	return t
}

func TestThroughputOverTime_isOfTheTrial(t *testing.T) {
	f := ThroughputOverTime(samplePaces(), NewGlyphs(nil))
	if f.Trial != "churn-lock-predecessor-20" || f.Name != "throughput-churn-lock-predecessor-20" || f.Clients != 20 {
		t.Errorf("it is %s of trial %s", f.Name, f.Trial)
	}
	if got := legendText(f); got != "grants per second, in steps of 100 ms; fault active" || f.yTitle != "grants per second (1/s)" {
		t.Errorf("legend %q, axis %q", got, f.yTitle)
	}
	if len(f.bands) != 1 || f.bands[0].from != 12 {
		t.Errorf("bands %+v, want the fault within the phases", f.bands)
	}
	if f.body.X.Min != 2 || f.body.X.Max != 19 || f.body.Y.Min != 0 || f.body.Y.Max < 400 {
		t.Errorf("axes from %v to %v and %v to %v, want the phases, and a rate from 0", f.body.X.Min, f.body.X.Max, f.body.Y.Min, f.body.Y.Max)
	}
	line := samplePaces()
	line.Queue = true
	if f := ThroughputOverTime(line, NewGlyphs(nil)); f.yTitle != "items taken per second (1/s)" || !strings.Contains(f.Title, "20 consumers") {
		t.Errorf("of a queue: %q, axis %q", f.Title, f.yTitle)
	}
	for name, line := range map[string]Timeline{"no phase": {Trace: &report.Trace{}}, "nothing done": {Trace: &report.Trace{Throughputs: []report.PhaseThroughput{pace(0, time.Second, func(int) int { return 0 })}}}} {
		if ThroughputOverTime(line, NewGlyphs(nil)) != nil {
			t.Errorf("%s: a plot of nothing", name)
		}
	}
}

// TestRates_coverThePhase: no step is so short that one grant makes a spike, and what was done in the
// steps together is what was done.
func TestRates_coverThePhase(t *testing.T) {
	for _, k := range []int{1, 2, 5, 10, 50} {
		for _, length := range []time.Duration{50 * time.Millisecond, 440 * time.Millisecond, 1030 * time.Millisecond, 7700 * time.Millisecond} {
			p := pace(time.Second, time.Second+length, func(int) int { return 3 })
			if len(p.Counts) == 0 {
				p.Counts = []int{3}
			}
			total := 0.0
			at := append(rates(p, k), xy{seconds(p.End), 0})
			for i, q := range at[:len(at)-1] {
				total += q.y * (at[i+1].x - q.x)
			}
			if want := float64(3 * len(p.Counts)); math.Abs(total-want) > 1e-6 {
				t.Errorf("%d slices of %v: %v done in all steps, want %v", k, length, total, want)
			}
			if last := at[len(at)-1].x - at[len(at)-2].x; len(at) > 2 && last < float64(k)*report.PaceWidth.Seconds()/2 {
				t.Errorf("%d slices of %v: the last step is only %v s long", k, length, last)
			}
		}
	}
}

func TestPaceSlices_areAsManyAsCanBeSeen(t *testing.T) {
	for _, row := range []struct {
		name   string
		length time.Duration
		each   int // done in a slice
		want   int
	}{
		{"400 a second are shown by the tenth of a second", 10 * time.Second, 40, 1},
		{"50 a second by the half", 10 * time.Second, 5, 5},
		{"a short phase has some steps however little is done", 8 * time.Second, 1, 10},
		{"an hour has steps of a second", time.Hour, 100, 10},
	} {
		if got := paceSlices([]report.PhaseThroughput{pace(0, row.length, func(int) int { return row.each })}); got != row.want {
			t.Errorf("%s: %d slices, want %d", row.name, got, row.want)
		}
	}
}

// A stall of one second in a day is drawn, though a day has more steps than pixels.
func TestThroughputOverTime_keepsExtremes(t *testing.T) {
	day := pace(0, 24*time.Hour, func(k int) int {
		if k/10 == 50_000 {
			return 0
		}
		return 20
	})
	shown := thin(rates(day, 10), stepPoints)
	low := math.Inf(1)
	for _, q := range shown {
		low = math.Min(low, q.y)
	}
	if len(shown) > stepPoints || low != 0 {
		t.Errorf("%d steps, the lowest %v; want the stall among %d", len(shown), low, stepPoints)
	}
	if text := legendText(ThroughputOverTime(Timeline{Trace: &report.Trace{Throughputs: []report.PhaseThroughput{day}}}, NewGlyphs(nil))); !strings.Contains(text, "including every extreme") {
		t.Errorf("the legend says %q", text)
	}
}

func TestOverTime_ofAQueueSpeaksOfItems(t *testing.T) {
	f := OverTime(sampleDeliveries(), NewGlyphs(nil))
	if f == nil {
		t.Fatal("no plot of a queue's deliveries")
	}
	if f.Title != "Delivery latency over time: queue/predecessor, 10 consumers" || f.yTitle != "delivery latency (log scale)" {
		t.Errorf("title %q, axis %q", f.Title, f.yTitle)
	}
	if got := legendText(f); got != "item (500); fault active" {
		t.Errorf("the legend says %q", got)
	}
	if !strings.Contains(f.About, "from the time at which it was due") {
		t.Errorf("about: %s", f.About)
	}
}
