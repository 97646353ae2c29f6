package draw

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// traceLimit bounds the grants and hand-offs of one trial that are kept for
// drawing: some 50 bytes each.
const traceLimit = 500_000

// trace is what one history has to draw.
type trace struct {
	plot.Timeline
	exact map[string][]float64 // every latency by metric, in nanoseconds; absent where there were too many
	depth depth
	pace  paces
	lines rounds
	fails plot.FailoverRounds
}

// read folds the history at path. It has no error: where a history is missing or
// damaged, the timeline is partial and says why.
func read(path string, t report.Trial, label string) *trace {
	tr := &trace{exact: map[string][]float64{}}
	tr.Trial, tr.Label, tr.Clients = t.Name, label, t.Clients
	h, err := history.Open(path)
	if err != nil {
		tr.Partial = err.Error()
		return tr
	}
	tr.pace = newPaces(h)
	tr.fails = plot.FailoverRounds{Trial: t.Name, Label: label, Clients: t.Clients, Promise: promise(t)}
	left, leftHandoffs := 0, 0
	folded := report.Observe(h, report.Observer{
		Record: func(n history.Numbered) {
			tr.depth.record(n)
			tr.pace.record(n)
			tr.lines.record(n)
		},
		Failover: func(r report.Failover) { tr.fails.Rounds = append(tr.fails.Rounds, r) },
		Belief: func(b verdict.Belief) {
			if len(tr.Beliefs) >= traceLimit {
				left++
				return
			}
			tr.Beliefs = append(tr.Beliefs, plot.Belief{Client: b.Client, Start: b.Start, End: b.End})
		},
		Overlap: func(o verdict.Overlap) {
			if len(tr.Overlaps) < traceLimit {
				tr.Overlaps = append(tr.Overlaps, plot.Overlap{Clients: [2]int{o.Older, o.Newer}, Start: o.Start, End: o.End, Exposure: o.Exposure})
			}
		},
		Handoff: func(metric string, h report.Handoff) {
			if len(tr.Handoffs) >= traceLimit {
				leftHandoffs++
				return
			}
			tr.Handoffs = append(tr.Handoffs, plot.Handoff{At: h.At, Latency: h.Latency, Failover: h.Failover})
			tr.exact[metric] = append(tr.exact[metric], float64(h.Latency))
		},
	})
	if leftHandoffs > 0 { // a part of the samples would pass for all of them
		clear(tr.exact)
	}
	tr.Windows = windows(h.Faults, folded.Length)
	tr.Rounds = tr.lines.all
	tr.Queue, tr.Paces = tr.pace.queue, tr.pace.over(folded.Length)
	switch {
	case folded.Err != nil:
		tr.Partial = folded.Err.Error()
	case left > 0:
		tr.Partial = fmt.Sprintf("only the first %s are drawn, %d more are not", units.Plural(traceLimit, "grant"), left)
	case leftHandoffs > 0:
		tr.Partial = fmt.Sprintf("only the first %s are drawn, %d more are not", units.Plural(traceLimit, "hand-off"), leftHandoffs)
	}
	return tr
}

// windows are the faults as they are shaded. One that was never healed lasts
// until the end of the trial.
func windows(faults []history.Fault, end time.Duration) []plot.Window {
	var out []plot.Window
	for _, f := range faults {
		w := plot.Window{Fault: f.Fault, Target: f.Target, Start: f.Start, End: f.End, Proven: f.Proof != ""}
		if w.End < w.Start {
			w.End = max(end, w.Start)
		}
		out = append(out, w)
	}
	return out
}

// promise is what the scenario promises about failovers; 0 where it does not.
func promise(t report.Trial) time.Duration {
	d, _ := time.ParseDuration(t.Params["promise"]) // what is no duration is for the threshold to say
	return max(d, 0)
}
