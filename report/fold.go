package report

import (
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/second"
	"github.com/zkbench/zkbench/report/verdict"
)

// Folded is the result of evaluating one history.
type Folded struct {
	Trial   Trial
	Trace   *Trace           // for plots and timelines
	History *history.History // nil if it could not be opened
	Err     error            // from reading the history; the verdicts report it too

	baseConditions []Condition // thresholds that need other trials
	histograms     string      // of every distribution, in the HDR log format
}

// Fold reads a history once and derives metrics, verdicts, faults, the results of the thresholds in
// its header, and the trace. doubts are reasons why the data is incomplete.
func Fold(h *history.History, doubts ...string) Folded {
	sweep, fold, tracer, opinions := verdict.NewSweep(h), metrics.NewFold(h), newTracer(h), second.NewOpinions(h)
	fold.OnHandoff, fold.OnFailover = tracer.handoff, tracer.failover
	fold.OnRamp, fold.OnPause = tracer.ramp, tracer.pause
	sweep.OnOverlap = func(o verdict.Overlap) {
		opinions.Overlap(o)
		tracer.overlap(o)
	}
	sweep.OnBelief = func(b facts.Belief) {
		opinions.Belief(b)
		fold.Belief(b)
		tracer.belief(b)
	}
	var at []time.Duration // of each record, if the trial has a script (provocation)
	var steps []Step
	var readErr error
	for n, err := range h.Records {
		if err != nil {
			readErr = err
			break
		}
		opinions.Record(n)
		sweep.Add(n)
		fold.Record(n)
		tracer.record(n)
		if s, ok := n.Record.(*history.Step); ok {
			steps = append(steps, Step{s.Step, s.Faults})
		}
		if h.Header.Provocation != "" {
			at = append(at, n.Time())
		}
	}
	t := Trial{
		Name: h.Header.Trial, Cell: h.Header.Cell, Repetition: h.Header.Repetition, Again: h.Header.Again, Look: h.Header.Look, Expect: h.Header.Expect,
		Verdicts: sweep.Close(readErr), Faults: faults(h.Faults), Steps: steps, Formulas: h.Header.Formulas,
	}
	applySecondOpinion(t.Verdicts, opinions.Close())
	for _, why := range doubts {
		t.addDoubt(why)
	}
	t.Metrics = fold.Close()
	if len(h.Phases) > 0 {
		setFailureTimes(t.Verdicts, at, h.Phases[0].Start)
	}
	out := Folded{Trace: tracer.close(fold.Length(), readErr), History: h, Err: readErr}
	out.histograms = histogramLog(fold)
	t.Thresholds, out.baseConditions = judgeThresholds(h.Header.Thresholds, t)
	out.Trial = t
	return out
}

// judgeThresholds evaluates the thresholds on a trial. baseConditions contains the thresholds on the
// base, which need other trials and are not evaluated.
func judgeThresholds(exprs []string, t Trial) (judged []Threshold, baseConditions []Condition) {
	for _, expr := range exprs {
		c, err := ParseThreshold(expr)
		switch {
		case err != nil:
			judged = append(judged, Threshold{Expr: expr, Result: Unknown, Measured: err.Error()})
		case c.TakesBase():
			baseConditions = append(baseConditions, c)
		default:
			judged = append(judged, c.Judge(t))
		}
	}
	return judged, baseConditions
}

// applySecondOpinion fails a passed verdict on mutual exclusion if the independent check found a
// violation, described by why.
func applySecondOpinion(verdicts []Verdict, why string) {
	for i := range verdicts {
		if v := &verdicts[i]; why != "" && v.Guarantee == verdict.MutualExclusion && v.Result == Pass {
			v.Result, v.Reasons = Fail, append(v.Reasons, why)
		}
	}
}

// setFailureTimes sets, for each failed verdict, the time from start to the last record of its
// evidence. at contains the times of all records, or is empty.
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

func histogramLog(f *metrics.Fold) string {
	var log strings.Builder
	// Writing to a strings.Builder cannot fail.
	_ = stats.WriteHistograms(&log, f.Histograms(), f.Length())
	return log.String()
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
