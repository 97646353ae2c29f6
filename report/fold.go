package report

import (
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/second"
	"github.com/zkbench/zkbench/report/verdict"
)

// Folded is what one history comes to.
type Folded struct {
	Trial   Trial
	Trace   *Trace           // what is to be drawn
	History *history.History // nil where it could not be opened
	Err     error            // what the reading of the history ended with; the verdicts say so too

	against    []Condition // thresholds that take other trials to judge
	histograms string      // of every distribution, as a log
}

// Fold reads a history once, and concludes everything from it: metrics, verdicts,
// faults, the thresholds of its header, and what is to be drawn. doubts are reasons for
// which not all of it can be known.
func Fold(h *history.History, doubts ...string) Folded {
	sweep, fold, tracer, opinions := verdict.NewSweep(h), metrics.NewFold(h), newTracer(h), second.NewOpinions(h)
	fold.OnHandoff, fold.OnFailover = tracer.handoff, tracer.failover
	fold.OnRamp, fold.OnPause = tracer.ramp, tracer.pause
	sweep.OnOverlap = func(o verdict.Overlap) {
		opinions.Overlap(o)
		tracer.overlap(o)
	}
	sweep.OnBelief = func(b verdict.Belief) {
		opinions.Belief(b)
		fold.Belief(b)
		tracer.belief(b)
	}
	var at []time.Duration // of each record, in a zoo
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
		Name: h.Header.Trial, Cell: h.Header.Cell, Repetition: h.Header.Repetition, Again: h.Header.Again, Expect: h.Header.Expect,
		Verdicts: sweep.Close(readErr), Faults: faults(h.Faults), Steps: steps, Formulas: h.Header.Formulas,
	}
	disagree(t.Verdicts, opinions.Close())
	t.Verdicts = append(t.Verdicts, second.Queue(h, t.Verdicts)...)
	for _, why := range doubts {
		t.inDoubt(why)
	}
	t.Metrics = fold.Close()
	if len(h.Phases) > 0 {
		timeFailures(t.Verdicts, at, h.Phases[0].Start)
	}
	out := Folded{Trace: tracer.close(fold.Length(), readErr), History: h, Err: readErr}
	out.histograms = histogramLog(fold)
	t.Thresholds, out.against = judgeThresholds(h.Header.Thresholds, t)
	out.Trial = t
	return out
}

// judgeThresholds judges the thresholds on a trial. against are those that take other trials.
func judgeThresholds(exprs []string, t Trial) (judged []Threshold, against []Condition) {
	for _, expr := range exprs {
		c, err := ParseThreshold(expr)
		switch {
		case err != nil:
			judged = append(judged, Threshold{Expr: expr, Result: Unknown, Measured: err.Error()})
		case c.TakesBase():
			against = append(against, c)
		default:
			judged = append(judged, c.Judge(t))
		}
	}
	return judged, against
}

// disagree fails the verdict on mutual exclusion where it passed, and the second opinion is
// against it.
func disagree(verdicts []Verdict, why string) {
	for i := range verdicts {
		if v := &verdicts[i]; why != "" && v.Guarantee == verdict.MutualExclusion && v.Result == Pass {
			v.Result, v.Reasons = Fail, append(v.Reasons, why)
		}
	}
}

// timeFailures sets how long after start the last record was made that proves a failure.
// at has the times of all records, or none.
func timeFailures(verdicts []Verdict, at []time.Duration, start time.Duration) {
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
	// A string can be written to without an error.
	_ = stats.WriteHistograms(&log, f.Histograms(), f.Length())
	return log.String()
}

func faults(ws []history.Fault) []Fault {
	var out []Fault
	for _, w := range ws {
		if w.CutShort || w.Inapplicable { // it is in the history
			continue
		}
		out = append(out, Fault{Fault: w.Fault, Target: w.Target, Start: w.Start, End: w.End, Proof: w.Proof, Err: w.Err})
	}
	return slices.Clip(out)
}
