package verdict

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/zkbench/zkbench/report/history"
)

// The corpus is recorded from real runs of the scenario zoo: specimens that break a
// guarantee, and sound recipes under the same provocations. The header of each says
// which guarantees must fail.

func corpus(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.jsonl.zst")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d histories in the corpus, %v", len(files), err)
	}
	return files
}

func TestCorpus_everyVerdictOnEveryHistory(t *testing.T) {
	failed := map[string]int{}
	passed := map[string]int{}
	for _, file := range corpus(t) {
		h, err := history.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		verdicts := Judge(h)
		for _, v := range verdicts {
			switch {
			case v.Result == Fail && len(h.Header.Expect) == 0:
				t.Errorf("%s: a false alarm: %s: %v", file, v.Guarantee, v.Reasons)
			case v.Result == Unknown && len(h.Header.Expect) == 0:
				t.Errorf("%s: a sound history is unknown: %s: %v", file, v.Guarantee, v.Reasons)
			case v.Result == Fail:
				failed[v.Guarantee]++
			case v.Result == Pass:
				passed[v.Guarantee]++
			}
		}
		for _, name := range h.Header.Expect {
			if !slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Guarantee == name && v.Result == Fail && len(v.Records) > 0 }) {
				t.Errorf("%s: %s did not catch it", file, name)
			}
		}
	}
	for _, name := range []string{MutualExclusion, ClaimValidity, FIFO, NoOrphan, Progress, FanOut, BusyLoop, NoLoss, NoDuplicate, QueueFIFO} {
		if failed[name] == 0 || passed[name] == 0 {
			t.Errorf("%s: %d bad and %d good histories; it takes both", name, failed[name], passed[name])
		}
	}
}

// raw returns the lines of a history, newlines included.
func raw(t testing.TB, file string) [][]byte {
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

// judgeLines judges a history made of lines.
func judgeLines(t testing.TB, lines [][]byte) ([]Verdict, error) {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "h.jsonl.zst")
	if err := os.WriteFile(path, w.EncodeAll(bytes.Join(lines, nil), nil), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := history.Open(path)
	if err != nil {
		return nil, err
	}
	return Judge(h), nil
}

// A history that is damaged may prove a failure, and never passes.
func TestCorpus_damage(t *testing.T) {
	whole := raw(t, "testdata/corpus/lock-predecessor-crowd.jsonl.zst")
	middle := len(whole) / 2
	for _, c := range []struct {
		name  string
		lines func() [][]byte
	}{
		{"its end is missing", func() [][]byte { return whole[:middle] }},
		{"its last line is cut", func() [][]byte { return append(slices.Clone(whole[:middle]), whole[middle][:9]) }},
		{"a record in the middle is missing", func() [][]byte { return slices.Delete(slices.Clone(whole), middle, middle+1) }},
		{"a record stands there twice", func() [][]byte { return slices.Insert(slices.Clone(whole), middle, whole[middle]) }},
		{"a record is not JSON", func() [][]byte { return slices.Replace(slices.Clone(whole), middle, middle+1, []byte("{broken\n")) }},
		{"a record has a field that nobody knows", func() [][]byte {
			return slices.Replace(slices.Clone(whole), middle, middle+1, []byte(`{"emptied":{"at":1,"phase":"x","colour":"red"}}`+"\n"))
		}},
		{"a record is two things", func() [][]byte {
			return slices.Replace(slices.Clone(whole), middle, middle+1, []byte(`{"emptied":{"at":1,"phase":"x"},"fault":{"fault":"f","target":"t","client":0,"start":0,"end":0}}`+"\n"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			verdicts, err := judgeLines(t, c.lines())
			if err != nil {
				return // refused, with words
			}
			if worst(verdicts) == Pass {
				t.Error("it passed")
			}
			for _, v := range verdicts {
				if v.Result == Pass && v.Guarantee != Faults {
					t.Errorf("%s passed", v.Guarantee)
				}
			}
		})
	}
}

// Whatever is flipped in a history, judging it ends, and what cannot be read to its
// end does not pass.
func FuzzJudge(f *testing.F) {
	for _, name := range []string{"lock-predecessor-crowd", "zoo-missed-wakeup-predecessor-leaves", "queue-parent-race"} {
		f.Add(bytes.Join(raw(f, "testdata/corpus/"+name+".jsonl.zst"), nil))
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		verdicts, err := judgeLines(t, [][]byte{plain})
		if err != nil {
			return
		}
		if worst(verdicts) == Pass && !bytes.Contains(plain, []byte(`{"end":`)) {
			t.Error("a history without an end passed")
		}
	})
}
