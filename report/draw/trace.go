package draw

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/verdict"
)

// trace is what one trial has to draw.
type trace struct {
	*report.Trace
	timeline plot.Timeline
	fails    plot.Drills
}

func newTrace(x *report.Trace, t report.Trial, label string) *trace {
	return &trace{
		Trace:    x,
		timeline: timeline(x, t, label),
		fails:    plot.Drills{Trial: t.Name, Label: label, Clients: t.Clients, Rounds: x.Failovers, Promise: promise(t)},
	}
}

// timeline puts a trace into the terms of the plots over time.
func timeline(x *report.Trace, t report.Trial, label string) plot.Timeline {
	return plot.Timeline{
		Trial: t.Name, Label: label, Clients: t.Clients, Queue: x.Queue, Partial: x.Partial,
		Handoffs: each(x.Handoffs, func(h metrics.Handoff) plot.Handoff { return plot.Handoff(h) }),
		Paces:    each(x.Paces, func(p report.Pace) plot.Pace { return plot.Pace(p) }),
		Beliefs:  each(x.Holds, func(h report.Hold) plot.Belief { return plot.Belief(h) }),
		Windows: each(x.Faults, func(f report.Fault) plot.Window {
			return plot.Window{Fault: f.Fault, Target: f.Target, Start: f.Start, End: f.End, Proven: f.Proof != ""}
		}),
		Overlaps: each(x.Overlaps, func(o verdict.Overlap) plot.Overlap {
			return plot.Overlap{Clients: [2]int{o.Older, o.Newer}, Start: o.Start, End: o.End, Exposure: o.Exposure}
		}),
	}
}

// each converts a slice.
func each[A, B any](in []A, convert func(A) B) []B {
	var out []B
	for _, a := range in {
		out = append(out, convert(a))
	}
	return out
}

// figures are the plots of one trial. Where it stands for so many, they say so.
func (tr *trace) figures(looks plot.Looks, trials int) []*plot.Figure {
	out := append(tr.terms(), plot.Failovers(tr.fails), plot.Budget(tr.fails))
	out = append(out, plot.OverTime(tr.timeline, looks), plot.ThroughputOverTime(tr.timeline, looks), plot.Holders(tr.timeline), tr.depth())
	for _, f := range out {
		if f != nil && trials > 0 {
			f.About += fmt.Sprintf(" Of the %d trials of this cell this is the worst, or else the first.", trials)
		}
	}
	return out
}

// depth draws the items that wait; nil where nothing streamed.
func (tr *trace) depth() *plot.Figure {
	if tr.Depth == nil {
		return nil
	}
	return plot.QueueDepth(plot.Depth{Trial: tr.timeline.Trial, Label: tr.timeline.Label, Clients: tr.timeline.Clients, Windows: tr.timeline.Windows,
		Points: each(tr.Depth, func(p report.DepthPoint) plot.DepthPoint { return plot.DepthPoint(p) })})
}

// terms draws the first round of each succession: the others look alike.
func (tr *trace) terms() []*plot.Figure {
	var out []*plot.Figure
	var drawn []string
	for _, r := range tr.Rounds {
		if r.End == 0 || slices.Contains(drawn, r.Phase) {
			continue
		}
		drawn = append(drawn, r.Phase)
		k := plot.Drill{Trial: tr.timeline.Trial, Label: tr.timeline.Label, Phase: r.Phase, Windows: tr.timeline.Windows, End: r.End,
			Line: each(r.Line, func(s report.Stand) plot.Stand { return plot.Stand(s) })}
		for _, b := range tr.timeline.Beliefs {
			if b.Start <= r.End && b.End >= r.Line[0].From {
				k.Terms = append(k.Terms, b)
			}
		}
		out = append(out, plot.Terms(k))
	}
	return out
}

// promise is what the scenario promises about failovers; 0 where it does not.
func promise(t report.Trial) time.Duration {
	d, _ := time.ParseDuration(t.Params["promise"]) // what is no duration is for the threshold to say
	return max(d, 0)
}
