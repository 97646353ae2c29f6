package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/golden"
)

// A history may be a stranger's: whichever number in it is the largest there is, or the
// longest that a trial has, judging it takes no more memory than the instants of a week need.
func TestFold_ofNumbersThatNoTrialHas(t *testing.T) {
	const bound = 200 << 20
	files, err := filepath.Glob(filepath.Join(golden.Corpus(t, "verdict/testdata/corpus.zip"), "history", "*.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, file := range files {
		lines := bytes.SplitAfter(unpacked(t, file), []byte("\n"))
		for i, line := range lines {
			for name, change := range numbers(line) {
				if tried[name] {
					continue
				}
				tried[name] = true
				for _, n := range []int64{math.MaxInt64, int64(7 * 24 * time.Hour)} {
					lines[i] = change(n)
					if used := usedByFold(t, bytes.Join(lines, nil)); used > bound {
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
func usedByFold(t *testing.T, text []byte) uint64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.jsonl.zst")
	z, err := zstd.NewWriter(nil)
	if err == nil {
		err = os.WriteFile(path, z.EncodeAll(text, nil), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if h, err := history.Open(path); err == nil {
		EvaluateHistory(h)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
