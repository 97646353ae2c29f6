package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"pgregory.net/rapid"
)

func TestParseThreshold_errorsNameTheColumnAndTheCure(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"", "column 1: a comparison operator is missing: use one of <= >= == != < >"},
		{"handoff.latency.p99", "column 20: a comparison operator is missing"},
		{"handoff.latency.p99 = 5ms", `column 21: "=" is not a comparison operator`},
		{"< 5ms", "column 1: a metric is missing before <, like handoff.latency.p99"},
		{"  handof.latency.p99 < 5ms", `column 3: unknown metric "handof.latency"; did you mean "handoff.latency"?`},
		{"handoff.latency < 5ms", "handoff.latency is a distribution: add one of the fields count, min"},
		{"pipe.roundtrip < 5ms", "pipe.roundtrip is a distribution: add one of the fields count, p50, p99"},
		{"pipe.roundtrip.max < 5ms", `pipe.roundtrip has no field "max"`},
		{"handoff.latency.p95 < 5ms", `handoff.latency has no field "p95"; did you mean "p90"?`},
		{"fanout.bytes.p99 < 5", `fanout.bytes has no field "p99"`},
		{"xyzzy < 5", `unknown metric "xyzzy" (see zkbench help metrics)`},
		{"handoff.latency.p99 < 50", "column 23: handoff.latency.p99 is a duration: write a unit, like 50ms"},
		{"handoff.latency.p99 < 50mms", "column 23: \"50mms\" is not a duration"},
		{"self.late.max < 1", "self.late.max is a duration: write a unit, like 1ms"},
		{"throughput < +Inf", `"+Inf" is not a duration`},
		{"throughput > 5ms", "throughput is not a duration: write a number without a unit"},
		{"handoff.latency.p99 <", "a value is missing after <"},
		{"handoff.latency.p99 < expected", "handoff.latency has no formula"},
		{"1s < handoff.latency.p99 < 5s", "unknown metric"},
		{"handoff.latency.p99 < 5s < 6s", "write one threshold for each comparison"},
		{"verdicts != pass", "verdicts can only be compared with =="},
		{"verdicts == fail", "verdicts can only be compared with pass"},
		{"self.lateness < 1s", `unknown metric "self.lateness"`},
		{"verdicts.fifi == pass", `unknown guarantee "fifi"; did you mean "fifo"?`},
		{"handoff.latency.p50 == 1*base", "two measurements are never exactly equal"},
		{"handoff.latency.p50 <= much*base", "not a multiple of the base"},
		{"handoff.latency.p50 <= -1*base", "not a multiple of the base"},
		{"handoff.latency.p50 <= *base", "not a multiple of the base"},
		{"handoff.latency.p50 <= 1.05*base", ""},
		{"throughput >= 0.95*base", ""},
	} {
		t.Run(c.expr, func(t *testing.T) {
			_, err := ParseThreshold(c.expr)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestCondition_Judge(t *testing.T) {
	trial := Trial{
		Formulas: map[string]string{"notifications": "1"},
		Cell:     history.Cell{Params: map[string]string{"promise": "2s", "crew": "7", "odd": "many"}},
		Metrics: map[string]Metric{
			metrics.HandoffLatency:      {Unit: "ns", Count: new(int64(100)), P99: new(12e6), P999: new(13e6), Max: new(3e9)},
			metrics.FanoutNotifications: {Unit: "1/handoff", Value: new(25.5), Expected: new(25.5)},
			metrics.FanoutRequests:      {Unit: "1/handoff", Value: new(3.0)},
			metrics.PipeRoundtrip:       {Unit: "ns", Count: new(int64(15)), P50: new(1e6), P99: new(7e6)},
			"self.late.max":             {Unit: "ns", Value: new(4e6)},
			metrics.Throughput:          {Unit: "1/s", Phase: "churn", Value: new(20.0)},
			metrics.LeaderlessTime:      {Unit: "ns", Count: new(int64(100)), P50: new(2e9), Max: new(3e9), Missing: 2},
		},
		Verdicts: []Verdict{{Guarantee: "fifo", Result: Pass}, {Guarantee: "progress", Result: Unknown},
			{Guarantee: "succession", Result: NotPromised}, {Guarantee: "fan-out", Result: NotJudged}},
	}
	for _, c := range []struct{ name, expr, result, measured string }{
		{"below its limit", "handoff.latency.p99 < 50ms", Pass, "12.0 ms"},
		{"above its limit", "handoff.latency.p99<=11ms", Fail, "12.0 ms"},
		{"not below what it equals", "handoff.latency.p99 < 12ms", Fail, "12.0 ms"},
		{"at most what it equals", "handoff.latency.p99 <= 12ms", Pass, "12.0 ms"},
		{"enough samples", "handoff.latency.count >= 5", Pass, "100"},
		{"a round trip", "pipe.roundtrip.p50 < 5ms", Pass, "1.00 ms"},
		{"a quantile of too few samples", "handoff.latency.p999 < 50ms", Unknown, "not measured: only 100 samples, but p999 needs at least 1000"},
		{"equal to the formula", "fanout.notifications == expected", Pass, "expected 25.5"},
		{"not unequal to the formula", "fanout.notifications != expected", Fail, "expected 25.5"},
		{"a formula that nobody has", "fanout.requests == expected", Unknown, "there is no formula for the expected value"},
		{"beyond a promised time", "handoff.latency.max < promise", Fail, "3.00 s"},
		{"a parameter that the scenario lacks", "handoff.latency.max < promisse", Unknown, `no parameter "promisse"`},
		{"a number where a duration belongs", "handoff.latency.max < crew", Unknown, `crew="7" cannot be compared`},
		{"a parameter without a number", "fanout.requests < odd", Unknown, `odd="many" cannot be compared`},
		{"a parameter that is a number", "fanout.requests < crew", Pass, "3"},
		{"a metric that was not measured", "failover.latency.max < 3s", Unknown, "not measured"},
		{"a field that was not measured", "handoff.latency.p50 < 3s", Unknown, "not measured"},
		{"of the only phase that has any", "throughput.churn > 10", Pass, "20"},
		{"of another", "throughput.drain > 10", Unknown, "not measured"},
		{"the longest of those that came, where some never did", "leaderless.time.max < 5s", Unknown, "3.00 s, and 2 more never completed"},
		{"which is enough to fail", "leaderless.time.max < 2s", Fail, "3.00 s"},
		{"what the harness says of itself", "self.late.max < 5ms", Pass, "4.00 ms"},
		{"an unknown verdict is no pass", "verdicts == pass", Unknown, "unknown: progress"},
		{"one verdict that passes", "verdicts.fifo == pass", Pass, "pass"},
		{"one verdict that is not promised", "verdicts.succession == pass", Pass, "not promised"},
		{"one verdict that is not judged", "verdicts.fan-out == pass", Unknown, "not exercised"},
		{"one verdict that was not given", "verdicts.fencing == pass", Unknown, "not exercised"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cond, err := ParseThreshold(c.expr)
			must(t, err)
			if got := cond.Judge(trial); got.Result != c.result || !strings.Contains(got.Measured, c.measured) || got.Expr != c.expr {
				t.Errorf("got %+v, want %s with %q", got, c.result, c.measured)
			}
		})
	}
	trial.Formulas = nil
	c, err := ParseThreshold("fanout.requests == expected")
	must(t, err)
	if got := c.Judge(trial); got.Result != NotJudged || !strings.Contains(got.Measured, "/handoff (the subject has no formula)") {
		t.Errorf("of a subject without a formula: %+v", got)
	}
}

func TestParseThreshold_keepsWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		metric := rapid.SampledFrom(slices.DeleteFunc(metrics.All(), func(d metrics.Definition) bool { return !d.Distribution })).Draw(t, "metric").Name
		field := rapid.SampledFrom(metrics.DistributionFields[1:]).Draw(t, "field")
		op := rapid.SampledFrom(operators).Draw(t, "op")
		gap := rapid.SampledFrom([]string{"", " ", "\t "}).Draw(t, "gap")
		c, err := ParseThreshold(gap + metric + "." + field + gap + op + gap + "5ms" + gap)
		if err != nil || c.Metric != metric || c.Field != field || c.Op != op || c.Value != "5ms" {
			t.Fatalf("%+v, %v", c, err)
		}
	})
}

func FuzzParseThreshold(f *testing.F) {
	for _, s := range []string{"handoff.latency.p99 < 50ms", "verdicts == pass", "fanout.bytes >= -.5", "a.b.c!=", "throughput == 1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := ParseThreshold(s); err == nil {
			c.Judge(Trial{Metrics: map[string]Metric{c.Metric: {Unit: "ns", Value: new(1.0), P99: new(1.0)}}, Cell: history.Cell{Params: map[string]string{c.Value: s}}})
		}
	})
}
