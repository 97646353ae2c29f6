package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/second"
	"github.com/zkbench/zkbench/report/verdict"
	"golang.org/x/sync/errgroup"
)

// Conclusion is a result together with other data from its histories, which need not be read again.
type Conclusion struct {
	Result Result
	Traces map[string]*Trace // by trial, for plots and timelines
	// Histories contains, by trial, the histories of trials with a failed verdict.
	Histories map[string]*history.History
}

// Judge evaluates the trials of a run folder from their histories alone, and writes nothing.
// The data about the run itself comes from [ReadRun]. Judge returns an error if a history has
// another version of the format.
func Judge(dir string) (Conclusion, error) {
	run, err := ReadRun(dir)
	if err != nil {
		return Conclusion{}, err
	}
	evaluations, _, err := evaluateFolder(dir, run)
	if err != nil {
		return Conclusion{}, err
	}
	return conclude(run, evaluations), nil
}

// ErrDamaged means that histories were damaged or removed after the result was written.
var ErrDamaged = errors.New("histories are incomplete, so the existing result was not overwritten")

// Conclude evaluates the trials from their histories, and writes result.json and the histograms. It
// returns the errors of [Judge], and [ErrDamaged] if a history that was complete when the existing
// result was written is now missing or damaged.
func Conclude(dir string, run Run) (Conclusion, error) {
	evaluations, previous, err := evaluateFolder(dir, run)
	if err == nil {
		err = checkComplete(dir, evaluations, previous)
	}
	if err != nil {
		return Conclusion{}, err
	}
	for _, f := range evaluations {
		if f.histograms == "" {
			continue // the history could not be opened
		}
		if err := writeSynced(dir, histogramFile(f.Trial.Name), []byte(f.histograms)); err != nil {
			return Conclusion{}, err
		}
	}
	c := conclude(run, evaluations)
	return c, writeResult(dir, c.Result)
}

// evaluateFolder evaluates all histories of a run folder, one per processor at a time, and adds the
// trials whose histories are missing. It returns an error for a history of another version, because
// the existing result must not be overwritten then. previous is the existing result, if any.
func evaluateFolder(dir string, run Run) (evaluations []Evaluation, previous Result, err error) {
	names, err := TrialNames(dir)
	if err != nil {
		return nil, previous, err
	}
	if previous, err = ReadResult(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, previous, err
	}
	evaluations = make([]Evaluation, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			f := evaluateFile(dir, name, run.Ensemble.managed())
			if !slices.ContainsFunc(f.Trial.Verdicts, func(v Verdict) bool { return v.Result == Fail }) {
				f.History = nil
			} else if f.History != nil {
				f.History.Forget() // many failed trials would fill the memory
			}
			evaluations[i] = f
			if errors.Is(f.Err, history.ErrNewer) || errors.Is(f.Err, history.ErrOlder) {
				return f.Err
			}
			return nil
		})
	}
	err = g.Wait()
	for _, t := range previous.Trials {
		if slices.Contains(names, t.Name) {
			continue
		}
		err := fmt.Errorf("the history is missing: %s no longer exists", HistoryPath(dir, t.Name))
		f := unreadable(t.Name, err)
		f.Trial.Cell, f.Trial.Repetition, f.Trial.Expect = t.Cell, t.Repetition, t.Expect
		evaluations = append(evaluations, f)
	}
	return evaluations, previous, err
}

// checkComplete returns an error if a history that was complete for the existing result is now incomplete.
func checkComplete(dir string, evaluations []Evaluation, previous Result) error {
	for _, before := range previous.Trials {
		i := slices.IndexFunc(evaluations, func(f Evaluation) bool { return f.Trial.Name == before.Name })
		if reason := evaluations[i].Trial.incompleteReason(); reason != "" && before.incompleteReason() == "" {
			return fmt.Errorf("%w: trial %s of %s: %s; restore the file, or move %s away to report on the other trials (zkbench check evaluates the folder without changing it)",
				ErrDamaged, before.Name, dir, reason, ResultFile)
		}
	}
	return nil
}

func unreadable(name string, err error) Evaluation {
	f := Evaluation{Err: err, Trace: &Trace{IncompleteReason: err.Error()}, Trial: Trial{Name: name, Metrics: map[string]metrics.Metric{}}}
	f.Trial.addIncomplete(err.Error())
	return f
}

func (t *Trial) addIncomplete(why string) {
	t.Verdicts = append(t.Verdicts, Verdict{Guarantee: verdict.Readable, Result: Unknown, Reasons: []string{why}})
}

func (t Trial) incompleteReason() string {
	for _, v := range t.Verdicts {
		if v.Guarantee == verdict.Readable {
			return strings.Join(v.Reasons, "; ")
		}
	}
	return ""
}

// evaluateFile evaluates one history. For a history that cannot be opened it returns a trial without
// data, so that the other trials are still evaluated. If committed is set, a missing file of commits
// makes the trial incomplete.
func evaluateFile(dir, name string, committed bool) Evaluation {
	h, err := history.Open(HistoryPath(dir, name))
	if err != nil {
		return unreadable(name, err)
	}
	var incompleteReasons []string
	if committed && !h.HasCommits {
		incompleteReasons = append(incompleteReasons, "the commits are missing: "+history.CommitsPath(HistoryPath(dir, name))+" does not exist; the trial was checked without them")
	}
	f := EvaluateHistory(h, incompleteReasons...)
	f.Trial.Name = name // not the header's: links to the history need the file name
	return f
}

func conclude(run Run, evaluations []Evaluation) Conclusion {
	c := Conclusion{
		Result: Result{Schema: Schema, Run: run, Trials: []Trial{}},
		Traces: map[string]*Trace{}, Histories: map[string]*history.History{},
	}
	baseConditions := map[string][]Condition{}
	for _, f := range evaluations {
		t := f.Trial
		c.Result.Trials = append(c.Result.Trials, t)
		c.Traces[t.Name], baseConditions[t.Name] = f.Trace, f.baseConditions
		if f.History != nil {
			c.Histories[t.Name] = f.History
		}
	}
	// Subjects with the same number of clients are adjacent.
	slices.SortStableFunc(c.Result.Trials, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Clients, b.Clients),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Repetition, b.Repetition), cmp.Compare(a.Name, b.Name))
	})
	c.Result.compareWithBase(baseConditions)
	return c
}

type Evaluation struct {
	Trial   Trial
	Trace   *Trace           // for plots and timelines
	History *history.History // nil if it could not be opened
	Err     error            // from reading the history; the verdicts report it too

	baseConditions []Condition // thresholds that need other trials
	histograms     string      // of every distribution, in the HDR log format
}

// EvaluateHistory reads a history once and derives metrics, verdicts, faults, the results of the thresholds in
// its header, and the trace. incompleteReasons are reasons why the data is incomplete.
func EvaluateHistory(h *history.History, incompleteReasons ...string) Evaluation {
	sweep, fold, trace, opinions := verdict.NewSweep(h), metrics.NewFold(h), newTraceBuilder(h), second.NewSamplers(h)
	fold.OnHandoff = trace.addHandoff
	sweep.OnOverlap = func(o verdict.Overlap) {
		opinions[h.Header.PathOf(o.Newer)].Overlap(o)
		trace.addOverlap(o)
	}
	sweep.OnBelief = func(b facts.Belief) {
		opinions[h.Header.PathOf(b.Client)].Belief(b)
		fold.Belief(b)
		trace.addBelief(b)
	}
	var at []time.Duration // of each record, if the trial has a script
	var steps []Step
	var readErr error
	for n, err := range h.Records {
		if err != nil {
			readErr = err
			break
		}
		opinions[0].Record(n)
		sweep.Add(n)
		fold.Record(n)
		trace.record(n.Record)
		if s, ok := n.Record.(*history.Step); ok {
			steps = append(steps, Step{s.Step, s.Faults})
		}
		if h.Header.Script != "" {
			at = append(at, n.Time())
		}
	}
	t := Trial{
		Name: h.Header.Trial, Cell: h.Header.Cell, Repetition: h.Header.Repetition, Retries: h.Header.EarlierAttempts, Look: h.Header.Look, Expect: h.Header.Expect,
		Verdicts: sweep.Close(readErr), Faults: faults(h.Faults), Steps: steps, Formulas: h.Header.Formulas,
	}
	for i, o := range opinions {
		why := o.Close()
		if why != "" && h.Header.Paths > 1 {
			why = fmt.Sprintf("path %d: %s", i, why)
		}
		applySecondOpinion(t.Verdicts, why)
	}
	for _, why := range incompleteReasons {
		t.addIncomplete(why)
	}
	t.Metrics = fold.Close()
	if len(h.Phases) > 0 {
		setFailureTimes(t.Verdicts, at, h.Phases[0].Start)
	}
	out := Evaluation{Trace: trace.close(fold, readErr), History: h, Err: readErr}
	var log strings.Builder // writing to it cannot fail
	_ = stats.WriteHistograms(&log, fold.Histograms(), fold.Length())
	out.histograms = log.String()
	t.Thresholds, out.baseConditions = judgeThresholds(h.Header.Thresholds, t)
	out.Trial = t
	return out
}

// judgeThresholds evaluates a trial's thresholds. baseConditions, which need other trials, are not evaluated.
func judgeThresholds(exprs []string, t Trial) (judged []Threshold, baseConditions []Condition) {
	for _, expr := range exprs {
		c, err := ParseThreshold(expr)
		switch {
		case err != nil:
			judged = append(judged, Threshold{Expr: expr, Result: Unknown, Measured: err.Error()})
		case c.ComparesWithBase():
			baseConditions = append(baseConditions, c)
		default:
			judged = append(judged, c.Judge(t))
		}
	}
	return judged, baseConditions
}

// applySecondOpinion fails a passed verdict on mutual exclusion if why, the independent check's finding, is set.
func applySecondOpinion(verdicts []Verdict, why string) {
	for i := range verdicts {
		if v := &verdicts[i]; why != "" && v.Guarantee == verdict.MutualExclusion && v.Result == Pass {
			v.Result, v.Reasons = Fail, append(v.Reasons, why)
		}
	}
}

// setFailureTimes sets the time from start to each failed verdict's last evidence. at may be empty.
func setFailureTimes(verdicts []Verdict, at []time.Duration, start time.Duration) {
	for i, v := range verdicts {
		var last time.Duration
		for _, n := range v.Records {
			if v.Result == Fail && n <= len(at) {
				last = max(last, at[n-1])
			}
		}
		if last > 0 {
			verdicts[i].After = last - start
		}
	}
}

func faults(ws []history.Fault) []Fault {
	var out []Fault
	for _, w := range ws {
		if w.CutShort || w.Inapplicable { // not part of the result
			continue
		}
		out = append(out, Fault{Fault: w.Fault, Target: w.Target, Start: w.Start, End: w.End, Proof: w.Proof, Err: w.Err})
	}
	return slices.Clip(out)
}
