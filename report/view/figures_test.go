package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
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
