package report

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// Conclusion is a result, and what else its histories came to when they were read for
// it, so that nobody reads them again.
type Conclusion struct {
	Result Result
	Traces map[string]*Trace // what is to be drawn, by trial
	// Histories are those of the trials with a failed verdict, by trial, to explain it.
	// Of the others nothing is kept.
	Histories map[string]*history.History
}

// Judge concludes the trials of a run folder from their histories alone, and
// writes nothing. What it says about the run is what [ReadRun] returns. It refuses a
// folder with a history of another version of the format.
func Judge(dir string) (Conclusion, error) {
	run, err := ReadRun(dir)
	if err != nil {
		return Conclusion{}, err
	}
	folded, err := foldFolder(dir)
	if err != nil {
		return Conclusion{}, err
	}
	return conclude(run, folded), nil
}

// Conclude concludes the trials from their histories, and writes result.json and
// the histograms. It refuses what Judge refuses.
func Conclude(dir string, run Run) (Conclusion, error) {
	folded, err := foldFolder(dir)
	if err != nil {
		return Conclusion{}, err
	}
	if err := os.MkdirAll(filepath.Join(dir, histogramDir), 0o755); err != nil {
		return Conclusion{}, err
	}
	for _, f := range folded {
		if f.histograms == "" {
			continue // the history could not be opened
		}
		if err := writeSynced(histogramPath(dir, f.Trial.Name), []byte(f.histograms)); err != nil {
			return Conclusion{}, err
		}
	}
	c := conclude(run, folded)
	return c, writeResult(dir, c.Result)
}

// foldFolder folds all histories of a run folder, as many at once as there are
// processors. What another version wrote is an error: what is known of it must not be
// written over with what we cannot read.
func foldFolder(dir string) ([]Folded, error) {
	names, err := trialNames(dir)
	if err != nil {
		return nil, err
	}
	folded := make([]Folded, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			f := foldFile(dir, name)
			if !slices.ContainsFunc(f.Trial.Verdicts, func(v Verdict) bool { return v.Result == Fail }) {
				f.History = nil // nobody asks for its records any more
			}
			folded[i] = f
			if errors.Is(f.Err, history.ErrNewer) || errors.Is(f.Err, history.ErrOlder) {
				return f.Err
			}
			return nil
		})
	}
	return folded, g.Wait()
}

// foldFile folds one history. One that cannot be opened is a trial of which
// nothing is known: it must not hide the others, nor be forgotten.
func foldFile(dir, name string) Folded {
	h, err := history.Open(HistoryPath(dir, name))
	if err != nil {
		return Folded{Err: err, Trace: &Trace{Partial: err.Error()}, Trial: Trial{
			Name: name, Metrics: map[string]metrics.Metric{},
			Verdicts: []Verdict{{Guarantee: verdict.Readable, Result: Unknown, Reasons: []string{err.Error()}}},
		}}
	}
	f := Fold(h)
	f.Trial.Name = name // the file's name leads to the history, whatever its header says
	return f
}

// conclude puts the trials together, and judges what takes several of them.
func conclude(run Run, folded []Folded) Conclusion {
	c := Conclusion{
		Result: Result{Schema: Schema, Run: run, Trials: []Trial{}},
		Traces: map[string]*Trace{}, Histories: map[string]*history.History{},
	}
	asked := map[string][]Condition{}
	for _, f := range folded {
		t := f.Trial
		c.Result.Trials = append(c.Result.Trials, t)
		c.Traces[t.Name], asked[t.Name] = f.Trace, f.against
		if f.History != nil {
			c.Histories[t.Name] = f.History
		}
	}
	// The subjects stand beside each other inside each client count.
	slices.SortStableFunc(c.Result.Trials, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Clients, b.Clients),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Repetition, b.Repetition), cmp.Compare(a.Name, b.Name))
	})
	c.Result.compareWithBase(asked)
	return c
}
