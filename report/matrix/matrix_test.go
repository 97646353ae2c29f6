package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

func trial(scenario, subject string, clients int, params map[string]string) report.Trial {
	return report.Trial{Cell: history.Cell{Scenario: scenario, Subject: subject, Clients: clients, Params: params}}
}

func TestOf(t *testing.T) {
	got := GroupScenarios([]report.Trial{
		trial("herd", "lock/predecessor", 50, nil), trial("herd", "lock/parent", 50, nil),
		trial("failover", "lock/parent", 5, map[string]string{"session_timeout": "4s", "hold": "1s"}),
		trial("failover", "lock/parent", 5, map[string]string{"session_timeout": "8s", "hold": "1s"}),
		trial("herd", "lock/parent", 10, nil), trial("herd", "lock/predecessor", 100, nil),
	})
	if len(got) != 2 || got[0].Name != "herd" || got[1].Name != "failover" {
		t.Fatalf("scenarios = %+v, want herd and failover in the order they were run", got)
	}
	if got[0].Series[0].Label != "lock/parent" || !slices.Equal(got[0].Counts, []int{10, 50, 100}) {
		t.Errorf("herd = %+v, want series by label and counts ascending", got[0])
	}
	if got[0].Series[0].Trials[0].Clients != 10 {
		t.Errorf("trials of a series are not ordered by clients")
	}
	if l := got[1].Series[0].Label; l != "lock/parent session_timeout=4s" {
		t.Errorf("label = %q, want only the parameter that varies in it", l)
	}
	if n := got[0].Common(); n != 50 {
		t.Errorf("Common = %d, want 50: the largest count that both have", n)
	}
	if n := (Scenario{}).Common(); n != 0 {
		t.Errorf("Common of nothing = %d, want 0", n)
	}
	got = GroupScenarios([]report.Trial{
		trial("herd", "lock/parent", 10, map[string]string{"repeat": "1"}), trial("herd", "lock/parent", 10, map[string]string{"repeat": "2"}),
	})
	if len(got[0].Series) != 1 || len(got[0].Series[0].At(10)) != 2 {
		t.Errorf("series of repetitions = %+v, want one with two trials", got[0].Series)
	}
}

// What a trial ran on is named where it is the only one, too: an upgrade.
func TestOf_namesTheVersion(t *testing.T) {
	one := []report.Trial{{Cell: history.Cell{Scenario: "upgrade", Subject: "lock/parent", Params: map[string]string{"version": "3.8.0 to 3.9.3", "hold": "5ms"}}}}
	if l := GroupScenarios(one)[0].Series[0].Label; l != "lock/parent version=3.8.0 to 3.9.3" {
		t.Errorf("label = %q", l)
	}
}

// TestOf_scripts: the trials of a zoo differ in what was done to the subject, and
// in nothing else. One of them must not stand for another.
func TestOf_scripts(t *testing.T) {
	caught := report.Trial{Name: "a", Cell: history.Cell{Scenario: "zoo", Subject: "lock/x", Clients: 3, Script: "waiter-expires"}, Expect: []string{"progress"}}
	sound := report.Trial{Name: "b", Cell: history.Cell{Scenario: "zoo", Subject: "lock/x", Clients: 3, Script: "holder-expires"}}
	got := GroupScenarios([]report.Trial{caught, sound})[0]
	if len(got.Series) != 2 {
		t.Fatalf("%d series, want one for each script", len(got.Series))
	}
	if l := got.Series[0].Label; l != "lock/x script=holder-expires" {
		t.Errorf("label = %q, want the script in it", l)
	}
	for _, x := range got.Merged().Series {
		if len(x.Trials) != 1 || x.Trials[0].Merged != 0 {
			t.Errorf("%s: %+v, want the trial as it is", x.Label, x.Trials)
		}
	}
}

// TestNames: a sentence about one trial calls it as the tables call its series.
func TestNames(t *testing.T) {
	trials := []report.Trial{
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "4s", "hold": "1s"}),
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "4s", "hold": "1s"}),
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "10s", "hold": "1s"}),
		trial("failover", "lock/parent", 5, map[string]string{"session_timeout": "10s"}),
		{Cell: history.Cell{Scenario: "zoo", Subject: "lock/parent", Clients: 3, Script: "holder-expires"}},
	}
	names := NamesOf(trials)
	for _, s := range GroupScenarios(trials) {
		for _, x := range s.Series {
			for _, one := range x.Trials {
				if got := names.Label(one.Cell); got != x.Label {
					t.Errorf("%s: %q, want %q as its series", s.Name, got, x.Label)
				}
			}
		}
	}
	if got := names.Label(trials[2].Cell); got != "lock/parent session_timeout=10s" {
		t.Errorf("%q, want the parameter that varies and no other", got)
	}
	c := report.Comparison{Cell: history.Cell{Scenario: "herd", Subject: "lock/predecessor", Clients: 5, Params: map[string]string{"session_timeout": "4s", "hold": "1s"}}}
	if got := names.Label(c.Cell); got != "lock/predecessor session_timeout=4s" {
		t.Errorf("%q, want a comparison named like the trials of its cell", got)
	}
}

func repeated(k int, p50 float64, n int64, fifo string) report.Trial {
	return report.Trial{
		Name: fmt.Sprint("t-", k), Repetition: k,
		Cell: history.Cell{Scenario: "s", Subject: "lock/a", Clients: 5, Params: map[string]string{"hold": "1ms"}},
		Metrics: map[string]report.Metric{
			"handoff.latency":      {Unit: "ns", Count: &n, Min: new(p50 / 2), P50: &p50, P99: new(p50 * 3), Max: new(p50 * 4)},
			"fanout.notifications": {Unit: "1/handoff", Value: new(1.0), Expected: new(1.0)},
		},
		Verdicts:   []report.Verdict{{Guarantee: "fifo", Result: fifo, Reasons: []string{"because"}}},
		Thresholds: []report.Threshold{{Expr: "e", Result: report.Pass, Measured: fmt.Sprint(k)}},
	}
}

func TestMerge(t *testing.T) {
	m := Merge([]report.Trial{
		repeated(1, 10, 200, report.Pass), repeated(2, 30, 300, report.Fail), repeated(3, 20, 100, report.Unknown),
	})
	h := m.Metrics["handoff.latency"]
	if *h.P50 != 20 || *h.P99 != 60 || *h.Min != 5 || *h.Max != 120 || *h.Count != 600 {
		t.Errorf("p50 %v, p99 %v, min %v, max %v, count %v; want medians 20 and 60, extremes 5 and 120, 600 samples", *h.P50, *h.P99, *h.Min, *h.Max, *h.Count)
	}
	if m.Name != "t-2" {
		t.Errorf("it bears the name of %s, want that of the worst", m.Name)
	}
	if v := m.Verdicts; len(v) != 1 || v[0].Result != report.Fail || !strings.Contains(strings.Join(v[0].Reasons, "; "), "trial 2: because; trial 1: because; trial 3: because") {
		t.Errorf("verdicts %+v, want one that failed, the worst trial first", v)
	}
	if len(m.Thresholds) != 1 || m.Thresholds[0].Measured != "1 in trial 1; 2 in trial 2; 3 in trial 3" {
		t.Errorf("thresholds %+v, want one", m.Thresholds)
	}
	if m.Merged != 3 || m.Repetition != 0 {
		t.Errorf("it stands for %d trials and has the number %d, want three trials and the number of none", m.Merged, m.Repetition)
	}
}

// Of a guarantee that only some trials judge, those count.
func TestMerge_whatIsNotJudged(t *testing.T) {
	for _, c := range [][3]string{
		{report.NotJudged, report.Pass, report.Pass}, {report.Pass, report.NotJudged, report.Pass}, {report.NotPromised, report.Fail, report.Fail},
		{report.NotPromised, report.NotPromised, report.NotPromised},
	} {
		if got := Merge([]report.Trial{repeated(1, 10, 200, c[0]), repeated(2, 10, 200, c[1])}).Verdicts[0].Result; got != c[2] {
			t.Errorf("%s and %s: %s", c[0], c[1], got)
		}
	}
}

func TestMerge_fewSamples(t *testing.T) {
	m := Merge([]report.Trial{repeated(1, 10, 60, report.Pass), repeated(2, 30, 60, report.Pass)})
	if m.Metrics["handoff.latency"].P99 != nil {
		t.Error("the 99th percentile of 60 samples is only their maximum, however often it is repeated")
	}
	quantiles := func(n int64) report.Metric {
		one := report.Trial{Metrics: map[string]report.Metric{"x": {Unit: "ns", Count: &n, P50: new(1.0), P90: new(2.0), P99: new(3.0), P999: new(4.0)}}}
		return Merge([]report.Trial{one, one, one}).Metrics["x"]
	}
	if m := quantiles(200); m.P999 != nil || m.P99 == nil {
		t.Error("three trials of 200 samples support a p99, and no p99.9")
	}
	if m := quantiles(5); m.P90 != nil || m.P50 == nil {
		t.Error("three trials of 5 samples support no p90")
	}
}

// TestMerge_thresholds: one that did not hold says in which trials, and what was measured there.
func TestMerge_thresholds(t *testing.T) {
	trial := func(k int, result, measured string) report.Trial {
		return report.Trial{Repetition: k, Thresholds: []report.Threshold{{Expr: "e", Result: result, Measured: measured}}}
	}
	fail, pass, unknown := report.Fail, report.Pass, report.Unknown
	for _, c := range []struct {
		about  string
		trials []report.Trial
		want   string
	}{
		{"the first is the worst", []report.Trial{trial(1, fail, "7 ms"), trial(2, pass, "4 ms")}, "7 ms in trial 1"},
		{"it failed twice", []report.Trial{trial(1, fail, "7 ms"), trial(2, pass, "4 ms"), trial(3, fail, "6 ms")}, "7 ms in trial 1; 6 ms in trial 3"},
		{"a failure outweighs what is not known", []report.Trial{trial(1, unknown, ""), trial(2, fail, "7 ms")}, "7 ms in trial 2"},
		{"nothing was measured", []report.Trial{trial(1, pass, "4 ms"), trial(2, unknown, "")}, "nothing in trial 2"},
		{"it held in both", []report.Trial{trial(1, pass, "4 ms"), trial(2, pass, "5 ms")}, "4 ms in trial 1; 5 ms in trial 2"},
		{"it failed often", []report.Trial{trial(1, fail, "a"), trial(2, fail, "b"), trial(3, fail, "c"), trial(4, fail, "d"), trial(5, fail, "e"),
			trial(6, fail, "f"), trial(7, fail, "g")}, "a in trial 1; b in trial 2; c in trial 3; d in trial 4; e in trial 5; 2 more"},
		{"only the last was held to it", []report.Trial{{Repetition: 1}, trial(2, fail, "0.9 of lock/b's")}, "0.9 of lock/b's"},
	} {
		if got := Merge(c.trials).Thresholds; len(got) != 1 || got[0].Measured != c.want {
			t.Errorf("%s: %+v, want measured %q", c.about, got, c.want)
		}
	}
}

func TestMerge_ofFewTrials(t *testing.T) {
	if m := Merge([]report.Trial{{Name: "a"}, {Name: "b"}}); m.Merged != 2 {
		t.Errorf("without parameters: it stands for %d trials, want two", m.Merged)
	}
	one := repeated(1, 10, 60, report.Pass)
	if m := Merge([]report.Trial{one}); m.Name != one.Name || *m.Metrics["handoff.latency"].P99 != 30 || m.Merged != 0 {
		t.Errorf("%+v, want the trial as it is", m)
	}
}

func TestSeries_Cells(t *testing.T) {
	var trials []report.Trial
	for _, n := range []int{5, 9} {
		for _, k := range []int{10, 2, 1} {
			x := repeated(k, 10, 60, report.Pass)
			x.Clients = n
			trials = append(trials, x)
		}
	}
	s := GroupScenarios(trials)[0]
	if got := s.Series[0].Trials; got[0].Repetition != 1 || got[2].Repetition != 10 {
		t.Errorf("repetitions %d %d %d, want them by number", got[0].Repetition, got[1].Repetition, got[2].Repetition)
	}
	cells := s.Merged().Series[0].Trials
	if len(cells) != 2 || cells[0].Clients != 5 || cells[1].Clients != 9 || *cells[1].Metrics["handoff.latency"].Count != 180 {
		t.Errorf("%+v, want one trial for each of two client counts", cells)
	}
	if len(s.Series[0].Trials) != 6 {
		t.Error("merging changed the scenario that it was asked of")
	}
}
