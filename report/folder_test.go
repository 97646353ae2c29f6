package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadResult(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"the present schema is read", `{"schema":"zkbench.result/v3"}`, ""},
		{"an older schema is refused clearly", `{"schema":"zkbench.result/v1","run":{"id":"x"}}`, "written by an older zkbench"},
		{"a newer schema is refused clearly", `{"schema":"zkbench.result/v4","trials":5}`, "written by a newer zkbench"},
		{"another file is not a result", `{"a":1}`, "is not a zkbench result"},
		{"a truncated file is not a result", `{"schema":`, "is damaged or not a zkbench result"},
		{"a damaged result points to the histories", `{"schema":"zkbench.result/v3","trials":5}`, "zkbench check"},
	} {
		path := filepath.Join(t.TempDir(), ResultFile)
		must(t, os.WriteFile(path, []byte(c.text), 0o644))
		_, err := ReadResult(path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := ReadResult(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}

func TestWriteResult_leavesNoTemporaryFileAndReplacesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"first", "second"} {
		must(t, writeResult(dir, Result{Run: Run{ID: id}}))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	if r, err := ReadResult(dir); err != nil || r.Run.ID != "second" || r.Schema != Schema {
		t.Errorf("%+v %v", r, err)
	}
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o555))
	if err := writeResult(filepath.Join(dir, "none"), Result{}); err == nil {
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
		dir := t.TempDir()
		for _, name := range c.files {
			must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		}
		err := Clear(dir)
		left, readErr := os.ReadDir(dir)
		must(t, readErr)
		if c.cleared && (err != nil || len(left) > 0) || !c.cleared && (err == nil || len(left) != len(c.files)) {
			t.Errorf("%s: error %v, %d files left of %d", c.name, err, len(left), len(c.files))
		}
	}
}

// A run folder may come from a stranger: links in it lead nowhere.
func TestWriteFile_followsNoLinkOutOfTheFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim.svg")
	for _, err := range []error{
		os.WriteFile(victim, []byte("mine"), 0o644),
		os.Symlink(outside, filepath.Join(dir, PlotDir)),
		os.Symlink(victim, filepath.Join(dir, PageFile)),
	} {
		must(t, err)
	}
	if err := WriteFile(dir, filepath.Join(PlotDir, "victim.svg"), []byte("theirs")); err == nil || !strings.Contains(err.Error(), "victim.svg") {
		t.Errorf("a folder that is a link was written to: %v", err)
	}
	if err := RemoveFiles(dir, PlotDir, func(string) bool { return true }); err == nil {
		t.Error("a folder that is a link was swept")
	}
	if err := WriteFile(dir, PageFile, []byte("page")); err != nil { // takes the link's place
		t.Error(err)
	}
	if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
		t.Errorf("outside there is %q (%v)", got, err)
	}
	if err := RemoveFiles(dir, "none", func(string) bool { return true }); err != nil {
		t.Errorf("of a folder that is not there: %v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside there are %v (%v)", entries, err)
	}
}
