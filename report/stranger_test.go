//go:build unix

package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/report/history"
)

// A run folder may come from a stranger: nothing that a link in it leads to, out of the
// folder, is read, and nothing is written there.
func TestJudge_followsNoLinkOutOfTheFolder(t *testing.T) {
	for _, row := range []struct {
		name  string
		links string // what in the folder is a link to the same in another run's folder
		want  string // in the error, or in a reason of a verdict
	}{
		{"the folder of histories", HistoryDir, "escapes"},
		{"a history", filepath.Join(HistoryDir, "one"+historySuffix), "escapes"},
		{"the folder of commits", commitsDir, "escapes"},
		{"the commits of a history", filepath.Join(commitsDir, "one"+historySuffix), "escapes"},
		{"the result", ResultFile, "escapes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			theirs, dir := t.TempDir(), t.TempDir()
			for _, d := range []string{theirs, dir} {
				writeHistory(t, d, history.Header{Trial: "one"}, hold("p", 1, 5, 0, 10, 20)...)
				must(t, os.Mkdir(filepath.Join(d, commitsDir), 0o755))
				text, err := os.ReadFile(HistoryPath(d, "one"))
				must(t, err)
				must(t, os.WriteFile(history.CommitsPath(HistoryPath(d, "one")), text, 0o644))
				must(t, writeResult(d, Result{Run: Run{ID: filepath.Base(d)}}))
			}
			if said := complaints(Judge(dir)); strings.Contains(said, row.want) {
				t.Fatalf("it complains before anything is wrong: %s", said)
			}
			must(t, os.RemoveAll(filepath.Join(dir, row.links)))
			must(t, os.Symlink(filepath.Join(theirs, row.links), filepath.Join(dir, row.links)))
			if said := complaints(Judge(dir)); !strings.Contains(said, row.want) {
				t.Errorf("it followed the link: %q", said)
			}
		})
	}
}

func TestConclude_writesNoHistogramsBehindALink(t *testing.T) {
	elsewhere, dir := t.TempDir(), t.TempDir()
	writeHistory(t, dir, history.Header{Trial: "one"}, hold("p", 1, 5, 0, 10, 20)...)
	must(t, os.Symlink(elsewhere, filepath.Join(dir, histogramDir)))
	if _, err := Conclude(dir, Run{}); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("it wrote %v (%v)", entries, err)
	}
}

// Whoever opens a pipe waits until somebody writes.
func TestJudge_waitsForNoPipe(t *testing.T) {
	dir := t.TempDir()
	writeHistory(t, dir, history.Header{Trial: "one"}, hold("p", 1, 5, 0, 10, 20)...)
	must(t, syscall.Mkfifo(HistoryPath(dir, "two"), 0o644))
	if said := complaints(Judge(dir)); !strings.Contains(said, "is not a regular file") {
		t.Errorf("it says %q", said)
	}
}

// complaints are the error of a conclusion, and the reasons for all doubts in it.
func complaints(c Conclusion, err error) string {
	var all []string
	if err != nil {
		all = append(all, err.Error())
	}
	for _, trial := range c.Result.Trials {
		for _, v := range trial.Verdicts {
			if v.Result == Unknown {
				all = slices.Concat(all, v.Reasons)
			}
		}
	}
	return strings.Join(all, "\n")
}
