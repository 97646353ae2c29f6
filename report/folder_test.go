package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

func writeHistory(t *testing.T, dir string, h history.Header, b *tale) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, HistoryDir), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := history.Create(HistoryPath(dir, h.Trial), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range b.records {
		switch {
		case r.Sample != nil:
			w.Sample(*r.Sample)
		case r.Window != nil:
			w.Window(*r.Window)
		case r.Note != nil:
			w.Note(*r.Note)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestConcludeAndJudgeAgree(t *testing.T) {
	dir := t.TempDir()
	b := new(tale).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40).fault(1, 100, 110)
	for _, clients := range []int{100, 5} {
		writeHistory(t, dir, history.Header{Trial: map[int]string{5: "a-5", 100: "a-100"}[clients], Scenario: "a", Clients: clients,
			Thresholds: []string{"handoff.latency.p50 < 1s"}}, b)
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
	if !reflect.DeepEqual(read, concluded) || !reflect.DeepEqual(judged, concluded) {
		t.Errorf("concluded %+v\nread %+v\njudged %+v", concluded, read, judged)
	}
	if judged.Trials[0].Name != "a-5" || judged.Trials[1].Name != "a-100" {
		t.Errorf("trials are not in order of their clients: %s, %s", judged.Trials[0].Name, judged.Trials[1].Name)
	}
	if th := judged.Trials[0].Thresholds; len(th) != 1 || th[0].Result != Pass {
		t.Errorf("thresholds %+v", th)
	}
	f, err := os.Open(HistogramPath(dir, "a-5"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if hs, err := ReadHistograms(f); err != nil || hs[HandoffLatency].Count() != 1 {
		t.Errorf("histograms %v, %v", hs, err)
	}
}

func TestJudgeShowsAHistoryThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	writeHistory(t, dir, history.Header{Trial: "good"}, new(tale).hold("p", 1, 5, 0, 10, 20))
	if err := os.WriteFile(HistoryPath(dir, "bad"), []byte("not zstd"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Judge(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Trials) != 2 || r.Trials[0].Name != "bad" || r.Trials[0].Verdicts[0].Result != Unknown {
		t.Errorf("trials %+v", r.Trials)
	}
}

func TestJudgeOfAFolderThatIsNoRunFolder(t *testing.T) {
	if _, err := Judge(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is it a run folder?") {
		t.Errorf("got %v", err)
	}
}

func TestReadResult(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"the present schema is read", `{"schema":"zkbench.result/v1"}`, ""},
		{"an older schema is read", `{"schema":"zkbench.result/v0","run":{"id":"x"}}`, ""},
		{"a newer schema is refused clearly", `{"schema":"zkbench.result/v2","trials":5}`, "written by a newer zkbench"},
		{"another file is no result", `{"a":1}`, "is not that of a zkbench result"},
		{"half a file is no result", `{"schema":`, "is no result"},
		{"a damaged result points to the histories", `{"schema":"zkbench.result/v1","trials":5}`, "zkbench check"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ResultFile)
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := ReadResult(path)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := ReadResult(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}

func TestWriteResultLeavesNoTemporaryFileAndReplacesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"first", "second"} {
		if err := WriteResult(dir, Result{Run: Run{ID: id}}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	if r, err := ReadResult(dir); err != nil || r.Run.ID != "second" || r.Schema != Schema {
		t.Errorf("%+v %v", r, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o555); err != nil {
		t.Fatal(err)
	}
	if err := WriteResult(filepath.Join(dir, "none"), Result{}); err == nil {
		t.Error("writing into a folder that does not exist succeeded")
	}
}

func TestClear(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   []string
		cleared bool
	}{
		{"a run folder is cleared", []string{ResultFile, ScenarioFile, PageFile, ".result.json.123", ".report.html.123"}, true},
		{"an empty folder is clear", nil, true},
		{"a folder with something of the user's stays as it is", []string{ResultFile, "thesis.doc"}, false},
		{"a folder that is no run folder stays as it is", []string{PlotDir}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := Clear(dir)
			left, readErr := os.ReadDir(dir)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if c.cleared && (err != nil || len(left) > 0) || !c.cleared && (err == nil || len(left) != len(c.files)) {
				t.Errorf("error %v, %d files left of %d", err, len(left), len(c.files))
			}
		})
	}
}
