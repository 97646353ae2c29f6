package report

import (
	"archive/zip"
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

func TestWriteResult_leavesNoTemporaryFileAndReplacesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"first", "second"} {
		if err := writeResult(dir, Result{Run: Run{ID: id}}); err != nil {
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

// A run folder may come from a stranger: links in it lead nowhere.
func TestWriteFile_followsNoLinkOutOfTheFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim.svg")
	for _, err := range []error{
		os.WriteFile(victim, []byte("mine"), 0o644),
		os.Symlink(outside, filepath.Join(dir, PlotDir)),
		os.Symlink(victim, filepath.Join(dir, PageFile)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(dir, filepath.Join(PlotDir, "victim.svg"), []byte("theirs")); err == nil || !strings.Contains(err.Error(), "victim.svg") {
		t.Errorf("a folder that is a link was written to: %v", err)
	}
	if err := Sweep(dir, PlotDir, func(string) bool { return true }); err == nil {
		t.Error("a folder that is a link was swept")
	}
	if err := WriteFile(dir, PageFile, []byte("page")); err != nil { // takes the link's place
		t.Error(err)
	}
	if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
		t.Errorf("outside there is %q (%v)", got, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside there are %v (%v)", entries, err)
	}
}

func TestSweep_ofAFolderThatIsNotThere(t *testing.T) {
	if err := Sweep(t.TempDir(), PlotDir, func(string) bool { return true }); err != nil {
		t.Error(err)
	}
}

// packed writes a zip file with these files, each of which holds its own name.
func packed(t *testing.T, names ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.zip")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range names {
		h := &zip.FileHeader{Name: name}
		if strings.HasSuffix(name, "@") {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestUnpack(t *testing.T) {
	for _, row := range []struct {
		about   string
		files   []string
		want    []string // below the folder
		refusal string
	}{
		{"the files of a run at the top", []string{"scenario.yaml", "result.json", "history/a.jsonl.zst"},
			[]string{"history/a.jsonl.zst", "result.json", "scenario.yaml"}, ""},
		{"a folder in a folder, with things beside it", []string{"log.txt", "out/ci/scenario.yaml", "out/ci/history/a.jsonl.zst", "out/other/b"},
			[]string{"history/a.jsonl.zst", "scenario.yaml"}, ""},
		{"what no run writes stays in it", []string{"scenario.yaml", ".bashrc", "bin/sh"}, []string{"scenario.yaml"}, ""},
		{"names that lead out of it", []string{"scenario.yaml", "../result.json", "/result.json", "history/../../result.json"}, []string{"scenario.yaml"}, ""},
		{"a link", []string{"scenario.yaml", "result.json@"}, []string{"scenario.yaml"}, ""},
		{"no run", []string{"readme.txt"}, nil, "does not contain a run folder"},
		{"several runs", []string{"a/scenario.yaml", "b/scenario.yaml"}, nil, "2 run folders (a/, b/)"},
	} {
		t.Run(row.about, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "run")
			err := Unpack(packed(t, row.files...), dir)
			if (err == nil) != (row.refusal == "") || err != nil && !strings.Contains(err.Error(), row.refusal) {
				t.Fatalf("%v, want %q", err, row.refusal)
			}
			var got []string
			_ = fs.WalkDir(os.DirFS(above), ".", func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					got = append(got, strings.TrimPrefix(name, "run/"))
				}
				return err
			})
			if strings.Join(got, " ") != strings.Join(row.want, " ") {
				t.Errorf("unpacked %v, want %v", got, row.want)
			}
		})
	}
}

func TestUnpack_leavesWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(packed(t, "scenario.yaml"), dir); err == nil || !strings.Contains(err.Error(), "--into DIR, or rerun the existing folder: zkbench rerun "+dir) {
		t.Errorf("%v, want it refused", err)
	}
}
