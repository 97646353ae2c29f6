package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/klauspost/compress/zstd"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/golden"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

func writeHistory(t testing.TB, dir string, h history.Header, records ...history.Record) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, HistoryDir), 0o755))
	w, err := history.Create(HistoryPath(dir, h.Trial), h)
	must(t, err)
	for _, r := range records {
		w.Record(r)
	}
	must(t, w.Close())
}

func TestConclude_agreesWithJudge(t *testing.T) {
	dir := t.TempDir()
	records := slices.Concat(hold("p", 1, 5, 0, 10, 20), hold("p", 2, 6, 0, 27, 40), []history.Record{closed(1, 100, 110)})
	for _, clients := range []int{100, 5} {
		writeHistory(t, dir, history.Header{Trial: map[int]string{5: "a-5", 100: "a-100"}[clients], Cell: history.Cell{Scenario: "a", Clients: clients},
			Thresholds: []string{"handoff.latency.p50 < 1s"}}, records...)
	}
	concluded, err := Conclude(dir, Run{ID: "r", Seed: 7})
	must(t, err)
	read, err := ReadResult(dir)
	must(t, err)
	judged, err := Judge(dir)
	must(t, err)
	if !reflect.DeepEqual(read, concluded.Result) || !reflect.DeepEqual(judged, concluded) {
		t.Errorf("concluded %+v\nread %+v\njudged %+v", concluded, read, judged)
	}
	trials := judged.Result.Trials
	if trials[0].Name != "a-5" || trials[1].Name != "a-100" {
		t.Errorf("trials are not in order of their clients: %s, %s", trials[0].Name, trials[1].Name)
	}
	if len(judged.Traces) != 2 || len(judged.Histories) != 0 {
		t.Errorf("%d traces and %d histories, want two of trials that nobody has to explain", len(judged.Traces), len(judged.Histories))
	}
	if th := trials[0].Thresholds; len(th) != 1 || th[0].Result != Pass {
		t.Errorf("thresholds %+v", th)
	}
	f, err := os.Open(filepath.Join(dir, histogramFile("a-5")))
	must(t, err)
	defer f.Close()
	log := hdrhistogram.NewHistogramLogReader(f)
	for {
		h, err := log.NextIntervalHistogram()
		if err != nil || h == nil {
			t.Fatalf("no histogram of %s: %v", metrics.HandoffLatency, err)
		}
		if h.Tag() == metrics.HandoffLatency {
			if h.TotalCount() != 1 {
				t.Errorf("the histogram has %d values, want 1", h.TotalCount())
			}
			break
		}
	}
}

// A trial whose history somebody has removed is not forgotten, however often the folder
// is judged.
func TestJudge_showsTheTrialsWhoseHistoriesAreMissing(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"kept", "removed"} {
		writeHistory(t, dir, history.Header{Trial: name, Cell: history.Cell{Scenario: "s", Subject: "lock/parent", Clients: 5}}, hold("p", 1, 5, 0, 10, 20)...)
	}
	if _, err := Conclude(dir, Run{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	must(t, os.Remove(HistoryPath(dir, "removed")))
	shows := func(c Conclusion, err error) {
		t.Helper()
		if err != nil || len(c.Result.Trials) != 2 {
			t.Fatalf("%d trials, %v", len(c.Result.Trials), err)
		}
		gone := c.Result.Trials[1]
		if v := gone.Verdicts; gone.Subject != "lock/parent" || len(v) != 1 || v[0].Result != Unknown || !strings.Contains(v[0].Reasons[0], "the history is missing") {
			t.Errorf("%+v", gone)
		}
		if c.Traces["removed"].IncompleteReason == "" {
			t.Error("nothing says why there is nothing to draw")
		}
	}
	shows(Judge(dir))
	must(t, os.Remove(filepath.Join(dir, ResultFile)))
	if c, err := Judge(dir); err != nil || len(c.Result.Trials) != 1 {
		t.Errorf("nothing names it any more: %d trials, %v", len(c.Result.Trials), err)
	}
}

// What was judged is not written over where its history does not tell it any more.
func TestConclude_refusesWhatWasDamagedSince(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut short": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, info.Size()/2)
		},
		"no history": func(path string) error { return os.WriteFile(path, []byte("not zstd"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeHistory(t, dir, history.Header{Trial: "a"}, hold("p", 1, 5, 0, 10, 20)...)
			writeHistory(t, dir, history.Header{Trial: "b"}, hold("p", 1, 5, 0, 10, 20)...)
			if _, err := Conclude(dir, Run{ID: "r"}); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(dir, ResultFile))
			must(t, err)
			must(t, damage(HistoryPath(dir, "b")))
			if _, err := Conclude(dir, Run{ID: "r"}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "trial b of") {
				t.Errorf("got %v", err)
			}
			if after, err := os.ReadFile(filepath.Join(dir, ResultFile)); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the result is another now, %v:\n%s", err, after)
			}
			must(t, os.Remove(filepath.Join(dir, ResultFile)))
			for range 2 { // drawn as it is, it can be drawn again
				if _, err := Conclude(dir, Run{ID: "r"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Where the members are ours there are commits; without them the verdicts are weaker.
func TestJudge_saysThatCommitsAreMissing(t *testing.T) {
	for kind, want := range map[string]bool{"process": true, "container": true, "external": false} {
		dir := t.TempDir()
		writeHistory(t, dir, history.Header{Trial: "t", Thresholds: []string{"verdicts == pass"}}, hold("p", 1, 5, 0, 10, 20)...)
		c, err := Conclude(dir, Run{ID: "r", Ensemble: Ensemble{Kind: kind}})
		must(t, err)
		said := slices.ContainsFunc(c.Result.Trials[0].Verdicts, func(v Verdict) bool {
			return v.Guarantee == "history" && v.Result == Unknown && strings.Contains(v.Reasons[0], "the commits are missing")
		})
		if said != want {
			t.Errorf("%s: %+v", kind, c.Result.Trials[0].Verdicts)
		}
		if x := c.Result.Trials[0].Thresholds[0]; strings.Contains(x.Measured, "history") != want {
			t.Errorf("%s: the threshold on all verdicts: %+v", kind, x)
		}
	}
}

func TestJudge_ofAFolderThatIsNoRunFolder(t *testing.T) {
	if _, err := Judge(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a run folder (no history folder)") {
		t.Errorf("got %v", err)
	}
}

// The history of a trial that failed is kept, and one that cannot be opened is shown.
func TestJudge_ofBadTrials(t *testing.T) {
	dir := t.TempDir()
	writeHistory(t, dir, history.Header{Trial: "good"}, slices.Concat(hold("p", 1, 5, 0, 10, 20), hold("p", 2, 6, 0, 27, 40))...)
	writeHistory(t, dir, history.Header{Trial: "bad"}, slices.Concat(hold("p", 1, 5, 0, 10, 50), hold("p", 2, 6, 0, 27, 40))...)
	must(t, os.WriteFile(HistoryPath(dir, "absurd"), []byte("not zstd"), 0o644))
	c, err := Judge(dir)
	must(t, err)
	if r := c.Result; len(r.Trials) != 3 || r.Trials[0].Name != "absurd" || r.Trials[0].Verdicts[0].Result != Unknown {
		t.Errorf("trials %+v", r.Trials)
	}
	if c.Traces["absurd"].IncompleteReason == "" {
		t.Error("nothing says why there is nothing to draw")
	}
	if len(c.Histories) != 1 || c.Histories["bad"] == nil {
		t.Fatalf("kept are %v, want that of the trial that failed", c.Histories)
	}
	records := 0
	for _, err := range c.Histories["bad"].Records {
		if records++; err != nil {
			t.Fatal(err)
		}
	}
	if records == 0 {
		t.Error("it has no records")
	}
}

// What another version wrote is refused before anything is written over.
func TestConclude_refusesAnotherVersionAndLeavesTheFolderAsItIs(t *testing.T) {
	dir := t.TempDir()
	writeHistory(t, dir, history.Header{Trial: "good"}, hold("p", 1, 5, 0, 10, 20)...)
	zw, err := zstd.NewWriter(nil)
	must(t, err)
	old := zw.EncodeAll([]byte(`{"schema":"zkbench.history/v1"}`+"\n"), nil)
	must(t, os.WriteFile(HistoryPath(dir, "old"), old, 0o644))
	if _, err := Conclude(dir, Run{ID: "r"}); !errors.Is(err, history.ErrOlder) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v was written (%v)", entries, err)
	}
}

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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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
	h := history.Of(history.Header{Trial: "t", Cell: history.Cell{Script: "crowd"}},
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
	i := slices.IndexFunc(f.Trial.Verdicts, func(v Verdict) bool { return v.Guarantee == verdict.MutualExclusion })
	if v := f.Trial.Verdicts[i]; v.Result != Fail || v.After != 51*ms {
		t.Errorf("%+v, want a failure proven after 51 ms", v)
	}
	if len(f.Trace.Holds) != 2 || len(f.Trace.Overlaps) != 1 || f.Trace.Length != 51*ms {
		t.Errorf("to draw there is %+v", f.Trace)
	}
}

// BenchmarkFold reads, judges and folds a history from disk: what one trial costs.
func BenchmarkFold(b *testing.B) {
	const cycles = 50_000
	dir := b.TempDir()
	var records []history.Record
	for i := range cycles {
		records = append(records, hold("churn", i%100, int64(i+1), i, i+1, i+1)...)
	}
	writeHistory(b, dir, history.Header{Trial: "t"}, records...)
	for b.Loop() {
		h, err := history.Open(HistoryPath(dir, "t"))
		must(b, err)
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

// Clients of different paths may hold at once, also by the second opinion; clients of one path may not.
func TestEvaluateHistory_ofSeveralPaths(t *testing.T) {
	const ms = time.Millisecond
	for _, row := range []struct {
		paths  int
		second int // the client that holds at the same time as client 0
		want   string
		reason string
	}{{1, 1, Fail, "clients 0"}, {2, 1, Pass, ""}, {2, 2, Fail, "path 0: clients 0"}, {5000, 1, Unknown, "(4998 of 5000 paths)"}} {
		header := history.Header{Trial: "paths", Recipe: verdict.Lock, Paths: row.paths, Promises: history.Promises{Exclusive: true, FIFO: true}, Cell: history.Cell{Clients: 3}}
		records := []history.Record{&history.PhaseStart{Name: "churn", Kind: "churn", Pace: history.ByClients},
			&history.Session{Event: history.Opened, Client: 0, Session: 1, Timeout: 4 * time.Second},
			&history.Session{Event: history.Opened, Client: row.second, Session: 2, Timeout: 4 * time.Second}}
		if row.paths == 2 && row.second == 2 { // nothing is unknown of the other path
			records = append(records, &history.Sample{Client: 1, Op: history.Acquire, Token: 1, Call: ms, Return: 2 * ms, Outcome: history.OK})
		}
		for i := range 60 {
			for _, client := range []int{0, row.second} {
				at := time.Duration(i) * time.Second // so that the beliefs of the paths come in turn
				s := history.Sample{Client: client, Phase: "churn", Op: history.Acquire, Token: int64(2*i + 2 + client), Call: at, Return: at + ms, Outcome: history.OK}
				r := s
				r.Op, r.Call, r.Return = history.Release, at+500*ms, at+501*ms
				records = append(records, &s, &r)
			}
		}
		trial := EvaluateHistory(history.Of(header, append(records, &history.PhaseEnd{At: time.Minute, Name: "churn"})...)).Trial
		for _, v := range trial.Verdicts {
			if v.Guarantee == verdict.MutualExclusion && (v.Result != row.want || !strings.Contains(strings.Join(v.Reasons, "; "), row.reason)) {
				t.Errorf("%d paths, client %d: %s %q, want %s with %q", row.paths, row.second, v.Result, v.Reasons, row.want, row.reason)
			}
		}
	}
}

// A history may be a stranger's: whichever number in it is the largest there is, or the
// longest that a trial has, judging it takes no more memory than the instants of a week need.
func TestFold_ofNumbersThatNoTrialHas(t *testing.T) {
	const bound = 200 << 20
	files, err := filepath.Glob(filepath.Join(golden.Corpus(t, "verdict/testdata/corpus.zip"), "history", "*.jsonl.zst"))
	must(t, err)
	tried := map[string]bool{}
	for _, file := range files {
		lines := golden.Lines(t, file)
		for i, line := range lines {
			for name, change := range numbers(line) {
				if tried[name] {
					continue
				}
				tried[name] = true
				for _, n := range []int64{math.MaxInt64, int64(7 * 24 * time.Hour)} {
					lines[i] = change(n)
					if used := usedByFold(t, lines); used > bound {
						t.Errorf("%s: %s of %d: %d MiB", filepath.Base(file), name, n, used>>20)
					}
				}
				lines[i] = line
			}
		}
	}
	if len(tried) < 60 {
		t.Errorf("%d numbers: where are the others?", len(tried))
	}
}

// numbers returns, for each number in a record, by its name, the record with another one.
func numbers(line []byte) map[string]func(int64) []byte {
	var record map[string]map[string]any
	if json.Unmarshal(line, &record) != nil {
		return nil // the header, the end of the text
	}
	out := map[string]func(int64) []byte{}
	for kind, fields := range record {
		for name, was := range fields {
			if _, is := was.(float64); is {
				out[kind+"."+name] = func(n int64) []byte {
					fields[name] = n
					b, _ := json.Marshal(record) // it was read so
					fields[name] = was
					return append(b, '\n')
				}
			}
		}
	}
	return out
}

// usedByFold is how many bytes judging a history takes, freed or not. Many are refused.
func usedByFold(t *testing.T, lines [][]byte) uint64 {
	t.Helper()
	path := golden.WriteLines(t, lines...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if h, err := history.Open(path); err == nil {
		EvaluateHistory(h)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestTrace_ofAQueue(t *testing.T) {
	records := []history.Record{
		&history.PhaseStart{Name: "deliver", Kind: history.DrainPhase, Pace: history.ByHarness},
		&history.PhaseEnd{Name: "deliver", At: time.Second},
		&history.PhaseStart{Name: "stream", Index: 1, Kind: "stream", Pace: history.ByRate, At: time.Second},
	}
	for i, phase := range []string{"deliver", "stream", "stream"} {
		due, id := time.Duration(i)*time.Second, fmt.Sprint(i)
		records = append(records,
			&history.Sample{Client: 2, Phase: phase, Op: history.Put, Item: id, Due: due, Call: due, Return: due + ms, Outcome: history.OK},
			&history.Sample{Phase: phase, Op: history.Take, Item: id, Due: due, Call: due, Return: due + 2*ms, Outcome: history.OK})
	}
	records = append(records, &history.Traffic{At: 3 * time.Second, Phase: "stream", Of: history.OfItem, Count: 2},
		&history.PhaseEnd{Name: "stream", Index: 1, At: 3 * time.Second})
	tr := EvaluateHistory(history.Of(history.Header{Trial: "queue-2", Recipe: verdict.Queue, Cell: history.Cell{Clients: 2}}, records...)).Trace
	if !tr.Queue || len(tr.Handoffs) != 3 || tr.IncompleteReason != "" {
		t.Fatalf("queue %v, %d deliveries, partial %q; want 3", tr.Queue, len(tr.Handoffs), tr.IncompleteReason)
	}
	if h := tr.Handoffs[1]; h.At != time.Second+2*ms || h.Latency != 2*ms || h.Failover {
		t.Errorf("the first item of the stream: %+v, want 2 ms from due to taken", h)
	}
}

func TestTrace_aFaultThatNeverHealedLastsUntilTheEnd(t *testing.T) {
	h := history.Of(history.Header{}, append(hold("p", 1, 5, 0, 10, 20), &history.Window{Start: 5 * ms})...)
	if f := EvaluateHistory(h).Trace.Faults; len(f) != 1 || f[0].End != 21*ms {
		t.Errorf("%+v, want it to last until 21 ms", f)
	}
}

func TestTrace_roundsOfASuccession(t *testing.T) {
	joined := func(round, client, at int) history.Record {
		return &history.Joined{Phase: "resign", Round: round, Client: client, At: time.Duration(at) * ms}
	}
	leaving := func(round, client, at int) history.Record {
		return &history.Leaving{Phase: "resign", Round: round, Client: client, At: time.Duration(at) * ms}
	}
	got := EvaluateHistory(history.Of(history.Header{}, joined(1, 0, 1), joined(1, 1, 2), leaving(1, 0, 5), leaving(1, -1, 9), joined(2, 0, 10))).Trace.Rounds
	if len(got) != 2 || got[0].End != 9*ms || got[1].End != 0 || len(got[0].Waiters) != 2 {
		t.Fatalf("%+v, want a round of two clients, and one that came to no end", got)
	}
	if first, second := got[0].Waiters[0], got[0].Waiters[1]; !first.Left || first.To != 5*ms || second.Left || second.To != 9*ms {
		t.Errorf("%+v and %+v, want one that left after 5 ms, and one that stood until the end", first, second)
	}
}
