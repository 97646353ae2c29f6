package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/zkbench/zkbench/report"
)

// savedRun copies the run folder in testdata, a herd of three on a real ensemble,
// which must stay readable for every later version.
func savedRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(dir, os.DirFS("testdata/run")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents reads every file below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differing lists the files that are not the same in both.
func differing(a, b map[string]string) []string {
	var out []string
	for name := range a {
		if other, there := b[name]; !there || other != a[name] {
			out = append(out, name)
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// call runs zkbench and returns its exit code and what it said.
func call(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command("zkbench", args...)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(said)
}

func TestReport_redrawsTheSameBytes(t *testing.T) {
	dir := savedRun(t)
	saved := contents(t, dir)
	if code, said := call(t, "report", dir); code != 0 {
		t.Fatalf("exit code %d; it said:\n%s", code, said)
	}
	first := contents(t, dir)
	for name := range saved {
		if name != report.ResultFile && first[name] != saved[name] {
			t.Errorf("drawing changed %s", name)
		}
	}
	for _, name := range []string{"report.html", "summary.md", "junit.xml", "bench.txt", "hdr/herd-lock-predecessor-3.hlog", "plots/fanout.svg", "plots/fanout.png"} {
		if first[name] == "" {
			t.Errorf("%s was not drawn; there is %v", name, slices.Sorted(maps.Keys(first)))
		}
	}
	if code, said := call(t, "report", dir); code != 0 {
		t.Fatalf("the second time: exit code %d; it said:\n%s", code, said)
	}
	if d := differing(first, contents(t, dir)); len(d) > 0 {
		t.Errorf("drawn again, these differ: %v", d)
	}
}

// A folder of another version is refused, in words that help, and is left as it is.
func TestFolderOfAnotherVersion(t *testing.T) {
	const newer, older = "written by a newer zkbench", "written by an older zkbench"
	compared := exitUnknown // one trial is too few to say more
	for _, c := range []struct {
		name           string
		change         func(t *testing.T, dir string)
		report, check  int
		compare        int
		refusedBecause string
	}{
		{"this version's", func(*testing.T, string) {}, 0, 0, compared, ""},
		{"an older result", inResult(`"zkbench.result/v3"`, `"zkbench.result/v1"`), exitUsage, exitUsage, exitUsage, older},
		{"no result, as a crash leaves it", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, report.ResultFile)) }, 0, exitUnknown, exitUsage, ""},
		{"a newer result", inResult(`"zkbench.result/v3"`, `"zkbench.result/v4"`), exitUsage, exitUsage, exitUsage, newer},
		{"a newer history", inHistory(`"zkbench.history/v3"`, `"zkbench.history/v4"`), exitUsage, exitUsage, compared, newer},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, other := savedRun(t), savedRun(t)
			c.change(t, dir)
			before := contents(t, dir)
			for verb, want := range map[string]int{"check": c.check, "report": c.report} {
				code, said := call(t, verb, dir)
				if code != want || want != 0 && !strings.Contains(said, c.refusedBecause) {
					t.Errorf("%s exits with %d, want %d with %q; it said:\n%s", verb, code, want, c.refusedBecause, said)
				}
			}
			if d := differing(before, contents(t, dir)); c.report != 0 && len(d) > 0 {
				t.Errorf("it was refused, and yet these changed: %v", d)
			}
			dir = savedRun(t)
			c.change(t, dir)
			code, said := call(t, "compare", dir, other, "--out", filepath.Join(t.TempDir(), "compared"))
			if code != c.compare {
				t.Errorf("compare exits with %d, want %d; it said:\n%s", code, c.compare, said)
			}
		})
	}
}

func TestCompare_writesAPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "compared")
	page := filepath.Join(dir, "compare.html")
	if code, output := call(t, "compare", savedRun(t), savedRun(t), "--out", dir); code != exitUnknown || !strings.Contains(output, page) {
		t.Errorf("exit code %d, want %d with the page's name; the output:\n%s", code, exitUnknown, output)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Unknown: ", "Conditions"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// inResult replaces a text in result.json.
func inResult(old, new string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		rewrite(t, filepath.Join(dir, report.ResultFile), func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) })
	}
}

// inHistory replaces a text in the history.
func inHistory(old, new string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		rewrite(t, report.HistoryPath(dir, "herd-lock-predecessor-3"), func(b []byte) []byte {
			r, err := zstd.NewReader(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			text, err := r.DecodeAll(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			return w.EncodeAll(bytes.Replace(text, []byte(old), []byte(new), 1), nil)
		})
	}
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := change(b)
	if bytes.Equal(changed, b) {
		t.Fatalf("nothing to change in %s", path)
	}
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
}
