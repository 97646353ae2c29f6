package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// invent makes a run of n trials of lock/parent and lock/predecessor with 10 clients.
// cost is what a hand-off of the latter costs, in ms, before noise.
func invent(r *rand.Rand, id string, n int, cost, noise float64) report.Result {
	res := report.Result{Run: report.Run{
		ID: id, Scenario: "herd", Start: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC),
		Host:     map[string]string{"os": "linux", "arch": "amd64", "cpus": "2", "cpu": "some", "name": "here"},
		Versions: map[string]string{"zookeeper": "3.8.0"},
		Ensemble: report.Ensemble{Kind: "process", Members: 3, Tick: 2 * time.Second},
	}}
	for i, subject := range []string{"lock/parent", "lock/predecessor"} {
		for k := 1; k <= n; k++ {
			base := []float64{5, cost}[i]
			p50 := base * 1e6 * math.Exp(noise*r.NormFloat64())
			res.Trials = append(res.Trials, report.Trial{
				Name: fmt.Sprintf("herd-%d-%d", i, k), Repetition: k,
				Cell: history.Cell{Scenario: "herd", Subject: subject, Clients: 10, Params: map[string]string{"hold": "20ms"}, Phases: "these"},
				Metrics: map[string]report.Metric{
					metrics.HandoffLatency:      {Unit: "ns", Count: new(int64(27)), P50: new(p50), P99: new(3 * p50)},
					metrics.FanoutNotifications: {Unit: "1/handoff", Value: new([]float64{6, 1}[i]), Expected: new([]float64{6, 1}[i])},
					metrics.FanoutRequests:      {Unit: "1/handoff", Value: new([]float64{6, 2}[i]), Expected: new([]float64{6, 2}[i])},
					metrics.FanoutBytes:         {Unit: "B/handoff", Value: new([]float64{2000, 500}[i])},
					metrics.Throughput:          {Unit: "1/s", Value: new(1e9 / (p50 + 2e6))},
				},
				Verdicts: []report.Verdict{{Guarantee: "fifo", Result: report.Pass}, {Guarantee: "mutual-exclusion", Result: report.Pass}},
			})
		}
	}
	return res
}

var five = Options{MaxRegression: 0.05}

// each edits trials: all, or those with these numbers.
func each(edit func(x *report.Trial), numbers ...int) func(*report.Result) {
	return func(r *report.Result) {
		for i := range r.Trials {
			if len(numbers) == 0 || slices.Contains(numbers, i) {
				edit(&r.Trials[i])
			}
		}
	}
}

func value(metric string, v float64) func(*report.Trial) {
	return func(x *report.Trial) { *x.Metrics[metric].Value = v }
}

func inUnit(metric, unit string) func(*report.Trial) {
	return func(x *report.Trial) {
		m := x.Metrics[metric]
		m.Unit = unit
		x.Metrics[metric] = m
	}
}

// exclusion is what the verdict on mutual exclusion says.
func exclusion(result string) func(*report.Trial) {
	return func(x *report.Trial) { x.Verdicts[1].Result = result }
}

func another(guarantee, result string) func(*report.Trial) {
	return func(x *report.Trial) {
		x.Verdicts = append(x.Verdicts, report.Verdict{Guarantee: guarantee, Result: result})
	}
}

func TestRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, row := range []struct {
		about string
		n     int
		cost  float64 // 1 before
		noise float64
		edit  func(new *report.Result)
		want  string
		says  string
	}{
		{"the same again is not worse", 10, 1, 0.01, nil, report.Pass, "Not worse"},
		{"10 % slower is worse", 10, 1.1, 0.01, nil, report.Fail, "handoff.latency.p50 of herd, lock/predecessor, 10 clients by +"},
		{"2 % slower is let pass", 20, 1.02, 0.005, nil, report.Pass, "Not worse"},
		{"10 % faster is not worse", 10, 0.9, 0.01, nil, report.Pass, "Not worse"},
		{"twice as fast is not worse, however noisy", 10, 0.5, 0.1, func(new *report.Result) { new.Trials = new.Trials[10:] }, report.Pass, "Not worse"},
		{"one trial of each says nothing about latency", 1, 2, 0.01, nil, report.Unknown, "not enough trials: run 4 more trials of each"},
		{"three trials of each neither", 3, 2, 0.01, nil, report.Unknown, "run 2 more trials of each"},
		{"noise hides a difference", 10, 1.03, 0.2, nil, report.Unknown, "too noisy to rule out a regression of 5 %"},
		{"one more request a hand-off is worse, in a single trial", 1, 1, 0.01, each(value(metrics.FanoutRequests, 2.1), 1),
			report.Fail, "fanout.requests of herd, lock/predecessor, 10 clients by +5.0 % (at most 2/handoff before, up to 2.10/handoff now)"},
		{"a few keep-alives are no more bytes", 10, 1, 0.01, each(value(metrics.FanoutBytes, 503), 11),
			report.Pass, "Not worse"},
		{"many more bytes are", 10, 1, 0.01, each(value(metrics.FanoutBytes, 600)),
			report.Fail, "fanout.bytes"},
		{"in one trial of ten they are chance", 10, 1, 0.01, each(value(metrics.FanoutBytes, 600), 11),
			report.Pass, "Not worse"},
		{"in one trial of one they may be", 1, 1, 0.01, each(value(metrics.FanoutBytes, 600), 1),
			report.Unknown, "fanout.bytes"},
		{"a guarantee that broke in one of ten trials is worse", 10, 1, 0.01, each(exclusion(report.Fail), 3),
			report.Fail, "verdict mutual-exclusion of herd, lock/parent, 10 clients (pass before, fail now)"},
		{"one that can no longer be judged is not a pass", 10, 1, 0.01, each(exclusion(report.Unknown), 3),
			report.Unknown, "verdict mutual-exclusion"},
		{"a run that ended early is not a pass", 10, 1, 0.01, func(new *report.Result) { new.Run.EndReason = "interrupted" }, report.Unknown, "the run ended early: interrupted"},
		{"another unit is not compared", 10, 1, 0.01, each(inUnit(metrics.HandoffLatency, "ms")),
			report.Unknown, `unit "ns" before, "ms" now`},
		{"nor is one in a single trial", 10, 1, 0.01, each(inUnit(metrics.FanoutRequests, "1"), 3),
			report.Unknown, `unit "1/handoff" before, "1" and "1/handoff" now`},
		{"what is no longer measured is not a pass", 10, 1, 0.01, each(func(x *report.Trial) { delete(x.Metrics, metrics.HandoffLatency) }),
			report.Unknown, "handoff.latency.p50 of herd, lock/parent, 10 clients (measured before, but not now)"},
		{"a guarantee that is no longer judged is not a pass", 10, 1, 0.01, each(func(x *report.Trial) { x.Verdicts = x.Verdicts[:1] }),
			report.Unknown, "verdict mutual-exclusion of herd, lock/parent, 10 clients (pass before, not exercised now)"},
		{"a guarantee that is judged for the first time is no change", 10, 1, 0.01, each(another("fencing", report.Pass)),
			report.Pass, "Not worse"},
		{"one that is judged for the first time, and is broken, is worse", 10, 1, 0.01, each(another("fencing", report.Fail), 0),
			report.Fail, "verdict fencing of herd, lock/parent, 10 clients (not checked before, fail now)"},
		{"a guarantee that is no longer promised is not a pass", 10, 1, 0.01, each(exclusion(report.NotPromised)),
			report.Unknown, "verdict mutual-exclusion of herd, lock/parent, 10 clients (pass before, not promised now)"},
		{"one trial in which it is not judged is no change", 10, 1, 0.01, each(exclusion(report.NotJudged), 0),
			report.Pass, "Not worse"},
		{"a guarantee that is in no trial judged is not a pass", 10, 1, 0.01, each(exclusion(report.NotJudged)),
			report.Unknown, "verdict mutual-exclusion of herd, lock/parent, 10 clients (pass before, not exercised now)"},
		{"what was never promised is no change", 10, 1, 0.01, each(another("fencing", report.NotPromised)),
			report.Pass, "Not worse"},
		{"times of a machine that was not fit say nothing", 10, 1, 0.01, each(another(verdict.HarnessHealth, report.Unknown), 0),
			report.Unknown, "none before, unknown now: times are not valid if the machine was too slow"},
		{"a threshold that failed is worse", 10, 1, 0.01, each(func(x *report.Trial) {
			x.Thresholds = append(x.Thresholds, report.Threshold{Expr: "throughput > 5", Result: report.Fail})
		}, 0), report.Fail, "threshold throughput > 5 of herd, lock/parent"},
		{"a history that is not whole may hide what is worse", 10, 1, 0.01, each(another(verdict.Readable, report.Unknown), 0),
			report.Unknown, "complete before, unknown now: the missing part may be worse"},
		{"a guarantee of which nothing is known any more", 10, 1, 0.01, each(another(verdict.NoOrphan, report.Unknown), 0),
			report.Unknown, "not checked before, unknown now"},
		{"nothing in common is not a pass", 10, 1, 0.01, func(new *report.Result) { new.Trials = nil }, report.Unknown, "no deciding metric in common"},
	} {
		old, new := invent(r, "old", row.n, 1, row.noise), invent(r, "new", row.n, row.cost, row.noise)
		if row.edit != nil {
			row.edit(&new)
		}
		c := Runs(old, new, five)
		if c.Result != row.want || !strings.Contains(c.Sentence(), row.says) {
			t.Errorf("%s: %s: %s\nwant %s and %q", row.about, c.Result, c.Sentence(), row.want, row.says)
		}
	}
}

// One trial of the old run that had more than all others does not let everything pass.
func TestRuns_takesMoreForWorseWhateverOneTrialHad(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	old, new := invent(r, "old", 10, 1, 0.01), invent(r, "new", 10, 1, 0.01)
	*old.Trials[11].Metrics[metrics.FanoutBytes].Value = 600
	if c := Runs(old, new, five); c.Result != report.Pass {
		t.Errorf("as many as before are %s: %+v", c.Result, c.Rows)
	}
	each(value(metrics.FanoutBytes, 590))(&new)
	if c := Runs(old, new, five); c.Result != report.Fail {
		t.Errorf("18 %% more in every trial are %s: %+v", c.Result, c.Rows)
	}
}

// Four trials are too few to test whether more is by chance, and not a reason to pass.
func TestRuns_aMedianThatRoseInFewTrialsIsUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	old, new := invent(r, "old", 4, 1, 0.01), invent(r, "new", 4, 1, 0.01)
	each(value(metrics.FanoutBytes, 5))(&new)
	last := old.Trials[len(old.Trials)-1].Repetition
	each(func(x *report.Trial) {
		*x.Metrics[metrics.FanoutBytes].Value = map[bool]float64{true: 5, false: 1}[x.Repetition == last]
	})(&old)
	c := Runs(old, new, five)
	for _, row := range c.Rows {
		if row.What == metrics.FanoutBytes && (row.Result != Unknown || row.More == 0 || row.Old.Center != 1 || row.Ratio.Center != 5) {
			t.Errorf("from 1 to 5 in four trials: %+v", row)
		}
	}
	if c.Result != report.Unknown {
		t.Errorf("%s: %s", c.Result, c.Sentence())
	}
}

// Counts that did not increase say nothing about times.
func TestRuns_withoutATimeInCommonIsUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	old, new := invent(r, "old", 10, 1, 0.01), invent(r, "new", 10, 1, 0.01)
	each(func(x *report.Trial) {
		delete(x.Metrics, metrics.HandoffLatency)
		delete(x.Metrics, metrics.Throughput)
	})(&old)
	if c := Runs(old, new, five); c.Result != report.Unknown || !strings.Contains(c.Sentence(), "no deciding metric in common") {
		t.Errorf("%s: %s", c.Result, c.Sentence())
	}
}

func TestRuns_whatFailedAndIsUnknownNowIsNotBetter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for now, want := range map[string]string{report.Unknown: report.Unknown, report.Pass: report.Pass} {
		old, new := invent(r, "old", 10, 1, 0.01), invent(r, "new", 10, 1, 0.01)
		old.Trials[0].Thresholds = append(old.Trials[0].Thresholds, report.Threshold{Expr: "throughput > 5", Result: report.Fail})
		new.Trials[0].Thresholds = append(new.Trials[0].Thresholds, report.Threshold{Expr: "throughput > 5", Result: now})
		if c := Runs(old, new, five); c.Result != want {
			t.Errorf("fail before, %s now: %s: %s; want %s", now, c.Result, c.Sentence(), want)
		}
	}
}

// A machine that was unfit both times is no steadier for that; a guarantee that was
// broken both times is no regression, and is not kept quiet.
func TestRuns_whatIsWrongInBoth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	both := func(guarantee, result string) Comparison {
		old, new := invent(r, "old", 10, 1, 0.01), invent(r, "new", 10, 1, 0.01)
		each(another(guarantee, result), 0)(&old)
		each(another(guarantee, result), 0)(&new)
		return Runs(old, new, five)
	}
	if c := both(verdict.HarnessHealth, report.Unknown); c.Result != report.Unknown {
		t.Errorf("unfit both times: %s %s", c.Result, c.Sentence())
	}
	if c := both(verdict.HarnessHealth, report.Pass); c.Result != report.Pass {
		t.Errorf("fit both times: %s %s", c.Result, c.Sentence())
	}
	c := both("fencing", report.Fail)
	if c.Result != report.Pass || !slices.Contains(c.Notes, "broken in both runs: fencing of herd, lock/parent, 10 clients") {
		t.Errorf("broken both times: %s, notes %q", c.Result, c.Notes)
	}
}

// What somebody asks for must be measured, and goes in the direction that it has.
func TestRuns_measuresThatWereAskedFor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	compared := func(m report.Measure, fairness float64) Comparison {
		before, after := invent(r, "old", 10, 1, 0.01), invent(r, "new", 10, 1, 0.01)
		for i, x := range []report.Result{before, after} {
			for _, trial := range x.Trials {
				trial.Metrics[metrics.Fairness] = report.Metric{Unit: "1", Value: new([]float64{1, fairness}[i] * (1 + 1e-4*r.Float64()))}
			}
		}
		return Runs(before, after, Options{MaxRegression: 0.05, Measures: []report.Measure{m}})
	}
	for _, m := range []report.Measure{{Metric: metrics.HandoffLatency, Field: "p99"}, {Metric: metrics.FailoverLatency, Field: "p50"}} {
		if c := compared(m, 1); c.Result != report.Unknown || !strings.Contains(c.Sentence(), m.String()+" of both runs (requested, but not measured in any cell") {
			t.Errorf("%v, which nobody measured: %s %s", m, c.Result, c.Sentence())
		}
	}
	fairness := report.Measure{Metric: metrics.Fairness, Field: "value"}
	for now, want := range map[float64]string{0.5: report.Fail, 1: report.Pass, 2: report.Pass} {
		if c := compared(fairness, now); c.Result != want {
			t.Errorf("fairness %v after 1: %s, want %s; %s", now, c.Result, want, c.Sentence())
		}
	}
}

func TestRuns_notesWhatOnlyOneHas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	old, new := invent(r, "old", 5, 1, 0.01), invent(r, "new", 5, 1, 0.01)
	new.Trials = new.Trials[5:]
	if c := Runs(old, new, five); !slices.Contains(c.Notes, "only in the old run, not compared: herd, lock/parent, 10 clients") {
		t.Errorf("notes %q", c.Notes)
	}
	if c := Runs(new, old, five); !slices.Contains(c.Notes, "only in the new run, not compared: herd, lock/parent, 10 clients") {
		t.Errorf("notes %q", c.Notes)
	}
}

// Two runs of the same thing must hardly ever be called worse, whatever the
// distribution of their trials, and however many rows are tested together; a shift
// of 10 % must be found.
func TestRuns_rates(t *testing.T) {
	for _, row := range []struct {
		about string
		noise func(r *rand.Rand) float64 // factor on a trial
	}{
		{"normal noise of 3 %", func(r *rand.Rand) float64 { return math.Exp(0.03 * r.NormFloat64()) }},
		{"a long tail: one trial in ten is twice as slow", func(r *rand.Rand) float64 {
			if r.IntN(10) == 0 {
				return 2
			}
			return math.Exp(0.02 * r.NormFloat64())
		}},
		{"an even spread of 8 %", func(r *rand.Rand) float64 { return 1 + 0.08*r.Float64() }},
	} {
		t.Run(row.about, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			const runs, n = 300, 12
			result := func(shift float64) string {
				old, new := invent(r, "old", n, 1, 0), invent(r, "new", n, 1, 0)
				for side, res := range []report.Result{old, new} {
					for _, x := range res.Trials {
						p50 := x.Metrics[metrics.HandoffLatency].P50
						*p50 *= row.noise(r)
						if side == 1 && x.Subject == "lock/predecessor" {
							*p50 *= shift
						}
						*x.Metrics[metrics.Throughput].Value = 1e9 / *p50
					}
				}
				return Runs(old, new, five).Result
			}
			alarms, found := 0, 0
			for range runs {
				if result(1) == report.Fail {
					alarms++
				}
				if result(1.1) == report.Fail {
					found++
				}
			}
			if alarms > runs*5/100 {
				t.Errorf("%d false alarms in %d comparisons of equals, at most 5 %% are promised", alarms, runs)
			}
			if found < runs*90/100 {
				t.Errorf("a shift of 10 %% was found in %d of %d", found, runs)
			}
		})
	}
}

// Two runs of a count that varies by nature are hardly ever called worse, however it
// varies and however few trials there are; a count that has grown by a fifth is found.
func TestRuns_countsThatVary(t *testing.T) {
	for _, row := range []struct {
		about string
		draw  func(r *rand.Rand) float64 // factor on a trial's count
		found bool                       // a fifth is more than it varies
	}{
		{"wakes that coalesce now and then", func(r *rand.Rand) float64 { return 1 - 0.01*float64(r.IntN(9)) }, true},
		{"one trial in twenty has some more", func(r *rand.Rand) float64 { return 1 + 0.1*float64(r.IntN(20)/19) }, true},
		{"one of two values", func(r *rand.Rand) float64 { return 1 + 0.1*float64(r.IntN(2)) }, true},
		{"consumers that race", func(r *rand.Rand) float64 { return math.Exp(0.3 * r.NormFloat64()) }, false},
	} {
		for _, n := range []int{1, 5, 8} {
			r := rand.New(rand.NewPCG(11, uint64(n)))
			run := func(grown float64) report.Result {
				res := invent(r, "r", n, 1, 0)
				res.Trials = res.Trials[n:]
				for _, x := range res.Trials {
					delete(x.Metrics, metrics.HandoffLatency)
					delete(x.Metrics, metrics.Throughput)
					for _, name := range []string{metrics.FanoutNotifications, metrics.FanoutRequests, metrics.FanoutBytes} {
						m := x.Metrics[name]
						*m.Value *= row.draw(r) * grown
						m.Expected = nil
						x.Metrics[name] = m
					}
				}
				return res
			}
			const pairs = 1000
			alarms, found := 0, 0
			for i := range pairs {
				if Runs(run(1), run(1), Options{MaxRegression: 0.05, Measures: []report.Measure{}}).Result == report.Fail {
					alarms++
				}
				if i%10 == 0 && Runs(run(1), run(1.2), Options{MaxRegression: 0.05, Measures: []report.Measure{}}).Result == report.Fail {
					found++
				}
			}
			if alarms >= pairs/100 {
				t.Errorf("%s, %d trials: %d of %d pairs of equals were called worse", row.about, n, alarms, pairs)
			}
			if row.found && n == 8 && found < pairs/10*9/10 {
				t.Errorf("%s, %d trials: a fifth more was found in %d of %d", row.about, n, found, pairs/10)
			}
		}
	}
}

// Where each subject took turns with a base, a machine of another speed does not
// make a run worse, and a slower recipe does.
func TestRuns_besideABase(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	run := func(machine, cost float64) report.Result {
		res := invent(r, "r", 12, 5*cost, 0)
		speed := map[int]float64{}
		for i, x := range res.Trials {
			res.Trials[i].Base = "lock/parent"
			if speed[x.Repetition] == 0 {
				speed[x.Repetition] = machine * math.Exp(0.3*r.NormFloat64())
			}
			*x.Metrics[metrics.HandoffLatency].P50 *= speed[x.Repetition] * math.Exp(0.01*r.NormFloat64())
			delete(x.Metrics, metrics.Throughput)
		}
		return res
	}
	other := run(2, 1)
	other.Run.Host["cpu"] = "slow"
	if u := IncomparableReasons(run(1, 1), other); len(u) > 0 {
		t.Errorf("unlike: %v; with a base another host is no reason", u)
	}
	if c := Runs(run(1, 1), other, five); c.Result != report.Pass {
		t.Errorf("the same on a machine of half the speed: %s %s", c.Result, c.Sentence())
	}
	if c := Runs(run(1, 1), run(0.5, 1.1), five); c.Result != report.Fail || !strings.Contains(c.Sentence(), "handoff.latency.p50 over lock/parent") {
		t.Errorf("10 %% slower on a machine of twice the speed: %s %s", c.Result, c.Sentence())
	}
}

func TestUnlike(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, row := range []struct {
		about string
		edit  func(new *report.Result)
		want  string
	}{
		{"two runs of the same are alike", func(*report.Result) {}, ""},
		{"more trials are no difference", func(new *report.Result) { *new = invent(r, "x", 7, 1, 0) }, ""},
		{"another ZooKeeper is what may be compared", func(new *report.Result) { new.Run.Versions["zookeeper"] = "3.9.4" }, ""},
		{"another name of the same kind of host neither", func(new *report.Result) { new.Run.Host["name"] = "there" }, ""},
		{"another kind of ensemble", func(new *report.Result) { new.Run.Ensemble.Kind = "container" }, "ensemble: process before, container now"},
		{"observers", func(new *report.Result) { new.Run.Ensemble.Observers = []string{"zk4"} }, "observers: 0 before, 1 now"},
		{"another size of ensemble", func(new *report.Result) { new.Run.Ensemble.Members = 5 }, "members: 3 before, 5 now"},
		{"another tick", func(new *report.Result) { new.Run.Ensemble.Tick = time.Second }, "tick: 2s before, 1s now"},
		{"another processor", func(new *report.Result) { new.Run.Host["cpu"] = "faster" }, "host's cpu: some before, faster now"},
		{"another hold", each(func(x *report.Trial) { x.Params["hold"] = "5ms" }), "hold: 20ms before, 5ms now"},
		{"other phases", each(func(x *report.Trial) { x.Phases = "other" }), "the phases differ"},
		{"another client count", each(func(x *report.Trial) { x.Clients = 20 }), "only the old run has herd, lock/parent, 10 clients"},
		{"a subject that is new", func(new *report.Result) {
			new.Trials = append(new.Trials, report.Trial{Cell: history.Cell{Scenario: "herd", Subject: "lock/new", Clients: 10}})
		}, "only the new run has herd, lock/new, 10 clients"},
	} {
		old, new := invent(r, "old", 5, 1, 0), invent(r, "new", 5, 1, 0)
		row.edit(&new)
		got := strings.Join(IncomparableReasons(old, new), "\n")
		if row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s: unlike: %q, want %q", row.about, got, row.want)
		}
	}
}
