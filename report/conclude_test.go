package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/klauspost/compress/zstd"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

func writeHistory(t *testing.T, dir string, h history.Header, records ...history.Record) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, HistoryDir), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := history.Create(HistoryPath(dir, h.Trial), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		w.Record(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestConclude_agreesWithJudge(t *testing.T) {
	dir := t.TempDir()
	records := slices.Concat(hold("p", 1, 5, 0, 10, 20), hold("p", 2, 6, 0, 27, 40), []history.Record{closed(1, 100, 110)})
	for _, clients := range []int{100, 5} {
		writeHistory(t, dir, history.Header{Trial: map[int]string{5: "a-5", 100: "a-100"}[clients], Cell: history.Cell{Scenario: "a", Clients: clients},
			Thresholds: []string{"handoff.latency.p50 < 1s"}}, records...)
	}
	concluded, err := Conclude(dir, Run{ID: "r", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadResult(dir)
	if err != nil {
		t.Fatal(err)
	}
	judged, err := Judge(dir)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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

func TestJudge_showsAHistoryThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	writeHistory(t, dir, history.Header{Trial: "good"}, hold("p", 1, 5, 0, 10, 20)...)
	if err := os.WriteFile(HistoryPath(dir, "bad"), []byte("not zstd"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Judge(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Result; len(r.Trials) != 2 || r.Trials[0].Name != "bad" || r.Trials[0].Verdicts[0].Result != Unknown {
		t.Errorf("trials %+v", r.Trials)
	}
	if c.Traces["bad"].IncompleteReason == "" {
		t.Error("nothing says why there is nothing to draw")
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
	if err := os.Remove(HistoryPath(dir, "removed")); err != nil {
		t.Fatal(err)
	}
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
	if err := os.Remove(filepath.Join(dir, ResultFile)); err != nil {
		t.Fatal(err)
	}
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
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(HistoryPath(dir, "b")); err != nil {
				t.Fatal(err)
			}
			if _, err := Conclude(dir, Run{ID: "r"}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "trial b of") {
				t.Errorf("got %v", err)
			}
			if after, err := os.ReadFile(filepath.Join(dir, ResultFile)); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the result is another now, %v:\n%s", err, after)
			}
			if err := os.Remove(filepath.Join(dir, ResultFile)); err != nil {
				t.Fatal(err)
			}
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
		if err != nil {
			t.Fatal(err)
		}
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

func TestJudge_keepsTheHistoriesOfFailedVerdicts(t *testing.T) {
	dir := t.TempDir()
	writeHistory(t, dir, history.Header{Trial: "good"}, slices.Concat(hold("p", 1, 5, 0, 10, 20), hold("p", 2, 6, 0, 27, 40))...)
	writeHistory(t, dir, history.Header{Trial: "bad"}, slices.Concat(hold("p", 1, 5, 0, 10, 50), hold("p", 2, 6, 0, 27, 40))...)
	c, err := Judge(dir)
	if err != nil {
		t.Fatal(err)
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
	if err != nil {
		t.Fatal(err)
	}
	old := zw.EncodeAll([]byte(`{"schema":"zkbench.history/v1"}`+"\n"), nil)
	if err := os.WriteFile(HistoryPath(dir, "old"), old, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Conclude(dir, Run{ID: "r"}); !errors.Is(err, history.ErrOlder) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v was written (%v)", entries, err)
	}
}
