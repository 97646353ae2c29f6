package verdict

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/golden"
)

// The corpus is recorded from real runs: testdata/corpus.md says how. Most are of
// the scenario zoo: specimens that break a guarantee, and sound recipes under the same
// scripts; the header of each says which guarantees must fail. Those in
// the folder history of testdata/corpus.zip have their commits in its folder commits, as in a run folder;
// the others are without, as those of an ensemble of somebody else's.

// bad are histories of other scenarios, and what must fail in them, or be unknown.
var bad = map[string][]string{
	"drill-zoo-order-by-prefix-8": {Succession},
	"paused-lock-kazoo-2":         {OwnershipQuery},
	"paused-lock-silent-2":        {LossNotification, MutualExclusion},
	"reset-lock-predecessor-5":    {NotificationCount},
	"unproven-lock-predecessor-2": {Faults},
	"hurried-lock-predecessor-2":  {HarnessHealth},
	"unplayed-lock-none-2":        {Completed},
}

// neverFails are the guarantees about the trial itself: what breaks them makes it unknown.
var neverFails = []string{Faults, HarnessHealth, Completed}

func corpus(t *testing.T) (files []string) {
	t.Helper()
	dir := golden.Corpus(t, "testdata/corpus.zip")
	for _, pattern := range []string{"*.jsonl.zst", "history/*.jsonl.zst"} {
		some, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(some) < 40 {
			t.Fatalf("%s: %d histories in the corpus, %v", pattern, len(some), err)
		}
		files = append(files, some...)
	}
	return files
}

func TestCorpus_everyVerdictOnEveryHistory(t *testing.T) {
	type cell struct {
		guarantee string
		commits   bool
	}
	broken := map[cell]int{}
	passed := map[cell]int{}
	for _, file := range corpus(t) {
		h, err := history.Open(file)
		must(t, err)
		if inRunFolder := filepath.Base(filepath.Dir(file)) == "history"; h.HasCommits != inRunFolder {
			t.Errorf("%s: commits: %v", file, h.HasCommits)
		}
		expected := append(h.Header.Expect, bad[strings.TrimSuffix(filepath.Base(file), ".jsonl.zst")]...)
		verdicts := Judge(h)
		for _, v := range verdicts {
			c := cell{v.Guarantee, h.HasCommits}
			switch {
			case v.Result == Pass:
				passed[c]++
			case isBroken(v):
				broken[c]++
			}
			if len(expected) == 0 && (v.Result == Fail || v.Result == Unknown) {
				t.Errorf("%s: a false alarm: %s is %s: %v", file, v.Guarantee, v.Result, v.Reasons)
			}
		}
		for _, name := range expected {
			if !slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Guarantee == name && isBroken(v) && len(v.Records) > 0 }) {
				t.Errorf("%s: %s did not catch it", file, name)
			}
		}
	}
	for _, name := range Names() {
		if name == WriterProgress || name == NoEarlyPassage {
			continue // of read-write locks only, and of barriers: TestRWLock, TestBarrier
		}
		for _, commits := range []bool{true, false} {
			c := cell{name, commits}
			if (commits || !slices.Contains(commitsAside, name)) && (broken[c] == 0 || passed[c] == 0) {
				t.Errorf("%s, commits: %v: %d bad and %d good histories; it takes both", name, commits, broken[c], passed[c])
			}
		}
	}
}

// commitsAside are the guarantees that are checked equally with commits and without, and those that
// need commits: a pair with them is enough.
var commitsAside = []string{LossNotification, NoLeak, OwnershipQuery, Succession, NotificationCount, Faults, HarnessHealth, Completed}

// isBroken says that a verdict is the worst that there is of its guarantee.
func isBroken(v Verdict) bool {
	return v.Result == Fail || v.Result == Unknown && slices.Contains(neverFails, v.Guarantee)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// judgeLines judges a history made of lines.
func judgeLines(t testing.TB, lines [][]byte) ([]Verdict, error) {
	t.Helper()
	h, err := history.Open(golden.WriteLines(t, lines...))
	if err != nil {
		return nil, err
	}
	return Judge(h), nil
}

// A history that is damaged may prove a failure, and never passes.
func TestCorpus_damage(t *testing.T) {
	whole := golden.Lines(t, filepath.Join(golden.Corpus(t, "testdata/corpus.zip"), "lock-predecessor-crowd.jsonl.zst"))
	middle := len(whole) / 2
	replaced := func(by string) [][]byte {
		return slices.Replace(slices.Clone(whole), middle, middle+1, []byte(by+"\n"))
	}
	for name, lines := range map[string][][]byte{
		"its end is missing":                     whole[:middle],
		"its last line is cut":                   append(slices.Clone(whole[:middle]), whole[middle][:9]),
		"a record in the middle is missing":      slices.Delete(slices.Clone(whole), middle, middle+1),
		"a record stands there twice":            slices.Insert(slices.Clone(whole), middle, whole[middle]),
		"a record is not JSON":                   replaced("{broken"),
		"a record has a field that nobody knows": replaced(`{"emptied":{"at":1,"phase":"x","colour":"red"}}`),
		"a record is two things":                 replaced(`{"emptied":{"at":1,"phase":"x"},"fault":{"fault":"f","target":"t","client":0,"start":0,"end":0}}`),
	} {
		t.Run(name, func(t *testing.T) {
			verdicts, err := judgeLines(t, lines)
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
	dir := golden.Corpus(f, "testdata/corpus.zip")
	for _, name := range []string{"lock-predecessor-crowd", "zoo-missed-wakeup-predecessor-leaves", "queue-parent-race"} {
		f.Add(bytes.Join(golden.Lines(f, filepath.Join(dir, name+".jsonl.zst")), nil))
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

// What is missing from a history proves nothing where the rest of it was lost.
func TestCorpus_aHistoryThatIsCutShortFailsNothingThatTheWholeKeeps(t *testing.T) {
	const cuts = 100
	proven := 0
	for _, file := range corpus(t) {
		h, err := history.Open(file)
		must(t, err)
		var all []history.Numbered
		for n, err := range h.Records {
			must(t, err)
			all = append(all, n)
		}
		var fails []string
		for _, v := range Judge(h) {
			if v.Result == Fail {
				fails = append(fails, v.Guarantee)
			}
		}
		for k := range cuts {
			s := NewSweep(h)
			for _, n := range all[:len(all)*k/cuts] {
				s.Add(n)
			}
			for _, v := range s.Close(history.ErrTruncated) {
				switch {
				case v.Result == Pass:
					t.Errorf("%s, cut before record %d of %d: %s passes", file, len(all)*k/cuts, len(all), v.Guarantee)
				case v.Result == Fail && !slices.Contains(fails, v.Guarantee):
					t.Errorf("%s, cut before record %d of %d: a false alarm: %s: %v", file, len(all)*k/cuts, len(all), v.Guarantee, v.Reasons)
				case v.Result == Fail:
					proven++
				}
			}
		}
	}
	if proven == 0 {
		t.Error("no history that was cut short proves a failure")
	}
}
