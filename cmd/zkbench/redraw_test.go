package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/zkbench/zkbench/report"
)

// savedRun copies the run folder in testdata, a herd of three on a real ensemble,
// which must stay readable for every later version.
func savedRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	must(t, os.CopyFS(dir, os.DirFS("testdata/run")))
	return dir
}

// contents reads every file below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		out[path] = string(b)
		return err
	}))
	return out
}

// unchanged fails the test if a file that was there is another one, or is not there.
func unchanged(t *testing.T, before, now map[string]string) {
	t.Helper()
	for name, text := range before {
		if other, there := now[name]; !there || other != text {
			t.Errorf("%s is not as it was", name)
		}
	}
}

func TestReport_redrawsTheSameBytes(t *testing.T) {
	dir := savedRun(t)
	saved := contents(t, dir)
	delete(saved, report.ResultFile)
	call(t, exitOK, "report", dir)
	first := contents(t, dir)
	unchanged(t, saved, first)
	for _, name := range []string{"report.html", "summary.md", "junit.xml", "bench.txt", "hdr/herd-lock-predecessor-3.hlog", "plots/fanout.svg", "plots/fanout.png"} {
		if first[name] == "" {
			t.Errorf("%s was not drawn; there is %v", name, slices.Sorted(maps.Keys(first)))
		}
	}
	call(t, exitOK, "report", dir)
	second := contents(t, dir)
	unchanged(t, first, second)
	unchanged(t, second, first)
}

// A folder of another version is refused, in words that help, and is left as it is.
func TestFolderOfAnotherVersion(t *testing.T) {
	const newer, older = "written by a newer zkbench", "written by an older zkbench"
	const result, history = report.ResultFile, "history/herd-lock-predecessor-3.jsonl.zst"
	compared := exitUnknown // one trial is too few to say more
	for _, c := range []struct {
		name                   string
		file, old, new         string // what is replaced in a file; a file without is removed
		report, check, compare int
		refusedBecause         string
	}{
		{"this version's", "", "", "", exitOK, exitOK, compared, ""},
		{"an older result", result, `"zkbench.result/v3"`, `"zkbench.result/v1"`, exitUsage, exitUsage, exitUsage, older},
		{"no result, as a crash leaves it", result, "", "", exitOK, exitUnknown, exitUsage, ""},
		{"a newer result", result, `"zkbench.result/v3"`, `"zkbench.result/v4"`, exitUsage, exitUsage, exitUsage, newer},
		{"a newer history", history, `"zkbench.history/v3"`, `"zkbench.history/v4"`, exitUsage, exitUsage, compared, newer},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := savedRun(t)
			if c.old != "" {
				replace(t, filepath.Join(dir, c.file), c.old, c.new)
			} else if c.file != "" {
				must(t, os.Remove(filepath.Join(dir, c.file)))
			}
			before := contents(t, dir)
			call(t, c.compare, "compare", dir, savedRun(t), "--out", filepath.Join(t.TempDir(), "compared"))
			contains(t, call(t, c.check, "check", dir), c.refusedBecause)
			contains(t, call(t, c.report, "report", dir), c.refusedBecause)
			if c.report != exitOK {
				unchanged(t, before, contents(t, dir))
			}
		})
	}
}

// replace replaces a text in a file of a run folder.
func replace(t *testing.T, path, old, new string) {
	t.Helper()
	change(t, path, func(b []byte) []byte {
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("no %s in %s", old, path)
		}
		return bytes.Replace(b, []byte(old), []byte(new), 1)
	})
}

// change changes the content of a file, which may be compressed.
func change(t *testing.T, path string, to func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	if filepath.Ext(path) != ".zst" {
		must(t, os.WriteFile(path, to(content), 0o600))
		return
	}
	r, err := zstd.NewReader(nil)
	must(t, err)
	defer r.Close()
	content, err = r.DecodeAll(content, nil)
	must(t, err)
	w, err := zstd.NewWriter(nil)
	must(t, err)
	defer w.Close()
	must(t, os.WriteFile(path, w.EncodeAll(to(content), nil), 0o600))
}
