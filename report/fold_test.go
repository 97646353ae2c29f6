package report

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

const ms = time.Millisecond

// hold is an acquire and a release, at times in milliseconds.
func hold(phase string, client int, token int64, call, granted, release int) []history.Record {
	s := history.Sample{Client: client, Phase: phase, Op: history.Acquire, Due: time.Duration(call) * ms, Call: time.Duration(call) * ms,
		Return: time.Duration(granted) * ms, Outcome: history.OK, Token: token, Session: int64(100 + client), Path: "/n"}
	r := s
	r.Op, r.Call, r.Return = history.Release, time.Duration(release)*ms, time.Duration(release+1)*ms
	return []history.Record{&s, &r}
}

func closed(client, from, to int) *history.Window {
	return &history.Window{Fault: "session.close", Target: "holder", Client: client, Start: time.Duration(from) * ms, End: time.Duration(to) * ms, Proof: "p"}
}

func TestFold_judgesTheThresholdsOfTheHeader(t *testing.T) {
	h := history.Of(history.Header{Trial: "t", Cell: history.Cell{Params: map[string]string{"promise": "5ms"}}, Thresholds: []string{
		"handoff.latency.p50 < 1s", "handoff.latency.max <= promise", "nonsense", "handoff.latency.p50 < 1.05*base",
	}}, slices.Concat(hold("p", 1, 5, 0, 10, 20), hold("p", 2, 6, 0, 27, 40))...)
	f := EvaluateHistory(h)
	want := []struct{ result, measured string }{{Pass, "7.00 ms"}, {Fail, "promise 5.00 ms"}, {Unknown, "a comparison operator is missing"}}
	if len(f.Trial.Thresholds) != len(want) || len(f.baseConditions) != 1 {
		t.Fatalf("%+v, and %d against the base", f.Trial.Thresholds, len(f.baseConditions))
	}
	for i, th := range f.Trial.Thresholds {
		if th.Result != want[i].result || !strings.Contains(th.Measured, want[i].measured) {
			t.Errorf("%s is %s (%s), want %+v", th.Expr, th.Result, th.Measured, want[i])
		}
	}
}

// Whatever is concluded from a history comes from one reading.
func TestFold_readsTheHistoryOnce(t *testing.T) {
	h := history.Of(history.Header{Trial: "t", Cell: history.Cell{Provocation: "crowd"}},
		slices.Concat([]history.Record{&history.PhaseStart{Name: "p"}}, hold("p", 1, 5, 0, 10, 50), hold("p", 2, 6, 0, 27, 40))...)
	records, readings := h.Records, 0
	h.Records = func(yield func(history.Numbered, error) bool) {
		readings++
		records(yield)
	}
	f := EvaluateHistory(h)
	if readings != 1 {
		t.Errorf("read %d times", readings)
	}
	i := slices.IndexFunc(f.Trial.Verdicts, func(v Verdict) bool { return v.Guarantee == "mutual-exclusion" })
	if v := f.Trial.Verdicts[i]; v.Result != Fail || v.After != 51*ms {
		t.Errorf("%+v, want a failure proven after 51 ms", v)
	}
	if len(f.Trace.Holds) != 2 || len(f.Trace.Overlaps) != 1 || f.Trace.Length != 51*ms {
		t.Errorf("to draw there is %+v", f.Trace)
	}
}

func TestFold_ofATruncatedHistoryIsNeverAPass(t *testing.T) {
	h := history.Of(history.Header{Trial: "t"}, slices.Concat(hold("p", 1, 5, 0, 10, 20), hold("p", 2, 6, 0, 27, 40))...)
	whole := h.Records
	h.Records = func(yield func(history.Numbered, error) bool) {
		for n := range whole {
			if !yield(n, nil) {
				return
			}
		}
		yield(history.Numbered{}, history.ErrTruncated)
	}
	for _, v := range EvaluateHistory(h).Trial.Verdicts {
		if v.Result == Pass {
			t.Errorf("%s passes", v.Guarantee)
		}
		if v.Guarantee == "mutual-exclusion" && !strings.Contains(v.Reasons[0], "not be read to its end") {
			t.Errorf("reasons %q", v.Reasons)
		}
	}
}

// BenchmarkFold reads, judges and folds a history from disk: what one trial costs.
func BenchmarkFold(b *testing.B) {
	const cycles = 50_000
	path := filepath.Join(b.TempDir(), "t.jsonl.zst")
	w, err := history.Create(path, history.Header{Trial: "t"})
	if err != nil {
		b.Fatal(err)
	}
	for i := range cycles {
		for _, r := range hold("churn", i%100, int64(i+1), i, i+1, i+1) {
			w.Sample(*r.(*history.Sample))
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		h, err := history.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if f := EvaluateHistory(h); f.Err != nil || *f.Trial.Metrics[metrics.AcquireLatency].Count != cycles {
			b.Fatalf("%+v", f)
		}
	}
	b.ReportMetric(2*cycles*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// A second opinion that is against a pass fails it; it has no say in anything else.
func TestDisagree(t *testing.T) {
	verdicts := []Verdict{
		{Guarantee: verdict.MutualExclusion, Result: Pass}, {Guarantee: verdict.FIFO, Result: Pass},
		{Guarantee: verdict.MutualExclusion, Result: Unknown}, {Guarantee: verdict.MutualExclusion, Result: NotPromised},
	}
	applySecondOpinion(verdicts, "")
	applySecondOpinion(verdicts, "it is against it")
	for i, want := range []string{Fail, Pass, Unknown, NotPromised} {
		if v := verdicts[i]; v.Result != want || (len(v.Reasons) == 1) != (want == Fail) {
			t.Errorf("%s: %s %q, want %s", v.Guarantee, v.Result, v.Reasons, want)
		}
	}
}
