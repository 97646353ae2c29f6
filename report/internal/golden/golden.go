// Package golden provides the data of tests: golden files with reviewed outputs, and recorded histories.
package golden

import (
	"archive/zip"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var update = flag.Bool("update", false, "rewrite the golden files; review the changes before you commit them")

// Compare fails the test unless got equals the file testdata/name. With -update it first writes the file.
func Compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from its golden file; got:\n%s", name, got)
	}
}

// Corpus unpacks the recorded histories from a zip archive into a temporary folder, and returns it.
func Corpus(t testing.TB, archive string) (dir string) {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir = t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Lines returns the lines of a recorded history, newlines included.
func Lines(t testing.TB, file string) [][]byte {
	t.Helper()
	compressed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	plain, err := d.DecodeAll(compressed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(plain, []byte("\n"))
}

// WriteLines writes a history that consists of lines to a temporary file, and returns its path.
func WriteLines(t testing.TB, lines ...[]byte) (file string) {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	file = filepath.Join(t.TempDir(), "history.jsonl.zst")
	if err := os.WriteFile(file, e.EncodeAll(bytes.Join(lines, nil), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
