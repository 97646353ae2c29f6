package view

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// A plot of one trial of several says which.
func TestFigures_ofOneTrialOfSeveralSaySo(t *testing.T) {
	b := builder{Input: Input{Traces: map[string]*report.Trace{"a": {Handoffs: []metrics.Handoff{{At: 1, Latency: 1}}}}}}
	for merged, want := range map[int]bool{0: false, 3: true} {
		for _, f := range b.timelineFigures(report.Trial{Name: "a", Merged: merged}, nil) {
			if f != nil && strings.Contains(f.About, "The cell has 3 trials") != want {
				t.Errorf("of %d trials: %s", merged, f.About)
			}
		}
	}
}

// What a scenario of paused holders answers is what they did, of all subjects in one plot; for
// how long nobody held is beside the point.
func TestFigures_ofPausedHoldersAnswer(t *testing.T) {
	trace := &report.Trace{Pauses: []metrics.Pause{{Granted: 1, Resumed: 2, Until: 3}}, Failovers: []metrics.Failover{{Latency: 1}}}
	v := New(Input{Traces: map[string]*report.Trace{"a": trace, "b": trace}, Result: report.Result{Trials: []report.Trial{
		{Name: "a", Cell: history.Cell{Scenario: "s", Subject: "lock/a", Clients: 2}}, {Name: "b", Cell: history.Cell{Scenario: "s", Subject: "lock/b", Clients: 2}},
	}}})
	var answers []string
	for _, f := range v.Figures {
		if f.Answer {
			answers = append(answers, f.Name)
		}
	}
	equal(t, answers, []string{"paused"})
}

func openLoop(subject string, capacity *float64, note string, unserved float64) report.Trial {
	return report.Trial{Name: subject, Cell: history.Cell{Scenario: "saturation", Subject: subject, Clients: 20}, Metrics: map[string]metrics.Metric{
		metrics.Capacity:       {Unit: "1/s", Phase: "ramp", Count: new(int64(900)), Value: capacity, Note: note},
		metrics.Unserved:       {Unit: "1", Value: &unserved, Count: new(int64(1000))},
		metrics.AcquireLatency: {Unit: "ns", Count: new(int64(200)), P50: new(3e6), P99: new(9e6), Max: new(20e6)},
		metrics.HandoffLatency: {Unit: "ns", Count: new(int64(200)), P50: new(2e6), P99: new(8e6), Max: new(20e6)},
		metrics.Throughput:     {Unit: "1/s", Value: new(50.0)},
	}}
}

func TestView_saysWhatIsKeptUpWith(t *testing.T) {
	a, b, c := openLoop("lock/a", new(412.0), "when it fell behind, 430 a second were done", 0),
		openLoop("lock/b", new(1020.0), "it kept up to the end: this is the least that it can", 0),
		openLoop("lock/c", new(15.0), "when it fell behind, 15 a second were done", 7)
	got := found(a, b, c)
	for _, want := range []string{
		"With a rising arrival rate, lock/a at 20 contenders kept up to a rate of 412/s; when it fell behind, 430 a second were done.",
		"With a rising arrival rate, lock/b at 20 contenders kept up to a rate of 1020/s; it kept up to the end: this is the least that it can.",
		"With a rising arrival rate, lock/c at 20 contenders kept up to a rate of 15/s; when it fell behind, 15 a second were done.",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("it does not say\n%q, but\n%q", want, got)
		}
	}
}

func TestView_saysOfWhichTrialAPromiseHolds(t *testing.T) {
	trial := func(n int, longest float64) report.Trial {
		return report.Trial{Name: fmt.Sprint("f-", n), Repetition: n, Cell: history.Cell{Scenario: "f", Subject: "lock/a", Clients: 3, Params: map[string]string{"promise": "12s"}},
			Metrics: map[string]metrics.Metric{
				metrics.FailoverLatency: {Unit: "ns", Count: new(int64(3)), Max: &longest},
				metrics.FailoverOutside: {Unit: "1", Count: new(int64(3)), Value: new(0.0)},
			}}
	}
	got := found(trial(1, 9e9), trial(2, 13e9))
	for _, want := range []string{
		"lock/a at 3 contenders, trial 1 met the promised failover time of 12.0 s in every measured failover: the longest failover took 9.00 s.",
		"lock/a at 3 contenders, trial 2 exceeded the promised failover time of 12.0 s: the longest failover took 13.0 s.",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("it does not say %q, but %q", want, got)
		}
	}
}

// A promise is kept by every failover, or nobody can say.
func TestPromises(t *testing.T) {
	for _, row := range []struct {
		max, predicted float64
		never          int64
		want           string
	}{
		{1e9, 2e9, 0, "lock/a at 0 contenders met the promised failover time of 2.00 s, and the predicted range is within it"},
		{1e9, 3e9, 0, "lock/a at 0 contenders met the promised failover time of 2.00 s in every measured failover, but cannot guarantee it: failovers of up to 3.00 s are predicted"},
		{3e9, 3e9, 1, "lock/a at 0 contenders exceeded the promised failover time of 2.00 s"},
		{1e9, 2e9, 1, "It is unknown whether lock/a at 0 contenders met the promised failover time of 2.00 s"},
	} {
		trial := report.Trial{Cell: history.Cell{Subject: "lock/a", Params: map[string]string{"promise": "2s"}},
			Metrics: map[string]metrics.Metric{metrics.FailoverLatency: {Unit: "ns", Max: &row.max, Missing: row.never}, metrics.FailoverPredicted: {Unit: "ns", Value: &row.predicted}}}
		got := promiseText("lock/a at 0 contenders", trial)
		if !strings.HasPrefix(got, row.want) {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

// manySessions is a trial in which so many were opened.
func manySessions(n int) report.Trial {
	of := func(v float64, unit, note string) metrics.Metric {
		return metrics.Metric{Unit: unit, Value: &v, Count: new(int64(n)), Note: note}
	}
	return report.Trial{Name: "many", Cell: history.Cell{Scenario: "scale", Subject: "lock/a", Clients: n}, Metrics: map[string]metrics.Metric{
		metrics.ConnectAll:        of(4.7e9, "ns", ""),
		metrics.ConnectLatency:    {Unit: "ns", Count: new(int64(n)), P50: new(60e6), P99: new(290e6), Max: new(400e6)},
		metrics.ReconnectAll:      of(2.7e9, "ns", ""),
		metrics.SessionHeap:       of(16_384, "B/session", ""),
		metrics.SessionStacks:     of(8192, "B/session", ""),
		metrics.SessionGoroutines: of(3, "1/session", ""),
		metrics.SessionsExpired:   of(2, "1", "1 by the servers' word"),
		metrics.MemberQueue:       of(15, "1", "zk1, while sessions were being opened"),
		metrics.MemberSilent:      of(4, "1", "zk2 4 times"),
		metrics.HandoffLatency:    {Unit: "ns", Count: new(int64(200)), P50: new(2e6), P99: new(8e6), Max: new(20e6)},
	}}
}

func TestView_saysWhatManySessionsTake(t *testing.T) {
	v := New(Input{Result: report.Result{Trials: []report.Trial{manySessions(100), manySessions(1000)}}, Traces: map[string]*report.Trace{}})
	if !strings.Contains(v.Description, "with 100 and 1000 sessions") {
		t.Errorf("it was asked %q", v.Description)
	}
	var said []string
	for _, f := range v.Figures {
		said = append(said, f.Title, f.About)
	}
	for _, s := range v.Sections {
		for _, b := range s.Blocks {
			said = append(said, b.Fold)
		}
	}
	if text := strings.Join(said, "\n"); strings.Contains(text, "contender") || !strings.Contains(text, "Connect latency by sessions") {
		t.Errorf("most of the clients do not contend, and the page says\n%s", text)
	}
	heads := headsOf(v.Tables[0])
	for _, want := range []string{"all connected", "heap/session", "all reconnected", "expired", "queue"} {
		if !slices.Contains(heads, want) {
			t.Errorf("the table has no %s, but %q", want, heads)
		}
	}
	if row := v.Tables[0].Rows[1].Cells; !slices.Contains(row, "2 of 1000") {
		t.Errorf("how many expired of how many is not in %q", row)
	}
}

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
