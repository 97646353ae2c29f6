package report

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
