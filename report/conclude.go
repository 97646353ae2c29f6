package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"

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
	folded, err := foldFolder(dir, run)
	if err != nil {
		return Conclusion{}, err
	}
	return conclude(run, folded), nil
}

// ErrDamaged says that a folder was damaged after it had been judged.
var ErrDamaged = errors.New("what was judged would be written over with less")

// Conclude concludes the trials from their histories, and writes result.json and
// the histograms. It refuses what Judge refuses, and with [ErrDamaged] a folder whose result
// knows what its histories do not tell any more.
func Conclude(dir string, run Run) (Conclusion, error) {
	folded, err := foldFolder(dir, run)
	if err == nil {
		err = damaged(dir, folded)
	}
	if err != nil {
		return Conclusion{}, err
	}
	for _, f := range folded {
		if f.histograms == "" {
			continue // the history could not be opened
		}
		if err := writeSynced(dir, histogramFile(f.Trial.Name), []byte(f.histograms)); err != nil {
			return Conclusion{}, err
		}
	}
	c := conclude(run, folded)
	return c, writeResult(dir, c.Result)
}

// foldFolder folds all histories of a run folder, as many at once as there are
// processors, and those that are missing. What another version wrote is an error: what is
// known of it must not be written over with what we cannot read.
func foldFolder(dir string, run Run) ([]Folded, error) {
	names, err := TrialNames(dir)
	if err != nil {
		return nil, err
	}
	lost, err := missing(dir, names)
	if err != nil {
		return nil, err
	}
	folded := make([]Folded, len(names), len(names)+len(lost))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			f := foldFile(dir, name, run.Ensemble.ours())
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
	err = g.Wait()
	return append(folded, lost...), err
}

// missing returns the trials that the result in the folder names and whose histories are
// not there any more.
func missing(dir string, there []string) ([]Folded, error) {
	former, err := formerResult(dir)
	var out []Folded
	for _, t := range former.Trials {
		if slices.Contains(there, t.Name) {
			continue
		}
		err := fmt.Errorf("the history is missing: %s is not there any more", HistoryPath(dir, t.Name))
		f := unreadable(t.Name, err)
		f.Trial.Cell, f.Trial.Repetition, f.Trial.Expect = t.Cell, t.Repetition, t.Expect
		out = append(out, f)
	}
	return out, err
}

// formerResult is what the folder was judged as before; an empty result where it never was.
func formerResult(dir string) (Result, error) {
	former, err := ReadResult(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, nil
	}
	return former, err
}

// damaged refuses trials whose histories are in doubt now, and were not when the result in
// the folder was written.
func damaged(dir string, folded []Folded) error {
	former, err := formerResult(dir)
	if err != nil {
		return err
	}
	for _, was := range former.Trials {
		i := slices.IndexFunc(folded, func(f Folded) bool { return f.Trial.Name == was.Name })
		if doubt := folded[i].Trial.doubt(); doubt != "" && was.doubt() == "" {
			return fmt.Errorf("%w: trial %s of %s: %s; bring the file back, or move %s away to draw what is left (zkbench check judges it as it is)",
				ErrDamaged, was.Name, dir, doubt, ResultFile)
		}
	}
	return nil
}

// unreadable is a trial of which nothing is known.
func unreadable(name string, err error) Folded {
	f := Folded{Err: err, Trace: &Trace{Partial: err.Error()}, Trial: Trial{Name: name, Metrics: map[string]metrics.Metric{}}}
	f.Trial.inDoubt(err.Error())
	return f
}

// inDoubt says why the history does not tell everything.
func (t *Trial) inDoubt(why string) {
	t.Verdicts = append(t.Verdicts, Verdict{Guarantee: verdict.Readable, Result: Unknown, Reasons: []string{why}})
}

// doubt is why the history does not tell everything; empty where it does.
func (t Trial) doubt() string {
	for _, v := range t.Verdicts {
		if v.Guarantee == verdict.Readable {
			return strings.Join(v.Reasons, "; ")
		}
	}
	return ""
}

// foldFile folds one history. One that cannot be opened is a trial of which
// nothing is known: it must not hide the others, nor be forgotten. committed says that there
// have to be commits beside it.
func foldFile(dir, name string, committed bool) Folded {
	h, err := history.Open(HistoryPath(dir, name))
	if err != nil {
		return unreadable(name, err)
	}
	var doubts []string
	if committed && !h.Commits {
		doubts = append(doubts, "its commits are missing: "+history.CommitsPath(HistoryPath(dir, name))+" is not there, and it was judged without them")
	}
	f := Fold(h, doubts...)
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
