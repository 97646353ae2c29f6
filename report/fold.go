package report

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
)

// Folded is what one history comes to.
type Folded struct {
	Trial      Trial
	Histograms map[string]*Histogram // by metric
	Against    []Condition           // thresholds that take other trials to judge
	Length     time.Duration         // of the trial
	Err        error                 // what the reading of the history ended with; the verdicts say so too
}

// Observer is told, while a history is folded, what there is to be drawn. A nil
// field is not told.
type Observer struct {
	Failover func(Failover) // one round of a failover

	Belief  func(verdict.Belief)
	Overlap func(verdict.Overlap)
	Handoff func(metric string, h Handoff) // of a queue: a delivery; metric is the one that it counts for
	Record  func(n history.Numbered)       // every record; what it points to must not be kept
}

// Fold reads a history once and concludes everything from it: metrics, verdicts,
// faults, and the thresholds of its header.
func Fold(h *history.History) Folded { return Observe(h, Observer{}) }

// Observe folds like [Fold] and tells the observer what it sees.
func Observe(h *history.History, o Observer) Folded {
	court, f := verdict.NewCourt(h), newFolding(h)
	court.OnOverlap, f.onHandoff, f.onFailover = o.Overlap, o.Handoff, o.Failover
	court.OnBelief = func(b verdict.Belief) {
		f.believe(b)
		if o.Belief != nil {
			o.Belief(b)
		}
	}
	var readErr error
	for n, err := range h.Records {
		if err != nil {
			readErr = err
			break
		}
		court.Add(n)
		f.add(n)
		if o.Record != nil {
			o.Record(n)
		}
	}
	t := Trial{
		Name: h.Header.Trial, Cell: h.Header.Cell, Repetition: h.Header.Repetition, Expect: h.Header.Expect,
		Verdicts: court.Close(readErr), Faults: faults(h.Faults), Formulas: h.Header.Formulas,
	}
	t.Metrics = f.metrics()
	t.provoked(h)
	out := Folded{Histograms: f.histograms, Length: f.end, Err: readErr}
	for _, expr := range h.Header.Thresholds {
		if c, err := ParseThreshold(expr); err == nil && c.TakesBase() {
			out.Against = append(out.Against, c)
			continue
		}
		t.Thresholds = append(t.Thresholds, judgeThreshold(expr, t))
	}
	out.Trial = t
	return out
}

func judgeThreshold(expr string, t Trial) Threshold {
	c, err := ParseThreshold(expr)
	if err != nil {
		return Threshold{Expr: expr, Result: Unknown, Measured: err.Error()}
	}
	return c.Judge(t)
}

func faults(ws []history.Fault) []Fault {
	var out []Fault
	for _, w := range ws {
		out = append(out, Fault{Fault: w.Fault, Target: w.Target, Start: w.Start, End: w.End, Proof: w.Proof, Err: w.Err})
	}
	return slices.Clip(out)
}
