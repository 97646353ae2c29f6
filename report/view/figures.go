package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/plot"
)

// figures draws up every plot that the data has something for; none without traces.
func (b builder) figures() []*plot.Figure {
	if b.Traces == nil {
		return nil
	}
	// What is provoked is explained, not measured: its plots would say nothing.
	all := matrix.Of(slices.DeleteFunc(slices.Clone(b.Result.Trials), func(t report.Trial) bool { return t.Provocation != "" }))
	var labels []string
	for _, s := range all {
		for _, x := range s.Series {
			labels = append(labels, x.Label)
		}
	}
	glyphs := plot.NewGlyphs(labels)
	var out []*plot.Figure
	for _, s := range all {
		figs := append(b.overview(s, glyphs), changes(s.Name, b.Result.Comparisons))
		for _, x := range s.Merged().Series { // of a repeated cell, its worst trial
			for _, t := range x.Trials {
				figs = append(figs, b.overTime(t, glyphs)...)
			}
		}
		figs = slices.DeleteFunc(figs, func(f *plot.Figure) bool { return f == nil })
		for _, f := range figs {
			if len(all) > 1 && f.Trial == "" { // a trial's name is unique already
				f.Rename(s.Name)
			}
		}
		out = append(out, figs...)
	}
	return out
}

// overview is the plots that compare the series of a scenario.
func (b builder) overview(s matrix.Scenario, glyphs plot.Glyphs) []*plot.Figure {
	merged := s.Merged()
	pauses := b.pauses(merged)
	out := []*plot.Figure{plot.Paused(pauses), plot.Resumed(pauses)}
	out = append(out, b.capacityFigures(s, glyphs)...)
	out = append(out, plot.FanOut(merged, glyphs), plot.Flap(merged, glyphs))
	for _, l := range measuredLatencies(seriesOrder([]matrix.Scenario{s})) {
		if b.byCause(s) && (l.Name == metrics.FailoverLatency || l.Name == metrics.LeaderlessTime) {
			continue // a plot by cause says more than one of all causes together
		}
		out = append(out, plot.Growth(merged, l.Name, l.Head, glyphs))
		for _, n := range slices.Backward(s.Counts) {
			dists := plot.Latencies(s, n, l.Name, func(trial string) []float64 { return cmp.Or(b.Traces[trial], &report.Trace{}).Latencies[l.Name] })
			out = append(out, plot.Percentiles(l.Name, l.Head, s.Count(n), dists, glyphs))
		}
	}
	return append(out, plot.Throughput(s, glyphs))
}

// pauses are the rounds of a scenario in which a holder's process was paused, by series and
// count of clients.
func (b builder) pauses(s matrix.Scenario) (out []plot.Pauses) {
	for _, x := range s.Series {
		for _, t := range x.Trials {
			p := plot.Pauses{Label: x.Label, Rounds: b.line(t).Pauses}
			if len(s.Counts) > 1 {
				p.Label = where(x.Label, t)
			}
			if len(p.Rounds) > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// byCause says whether a trial of the scenario played rounds of failovers.
func (b builder) byCause(s matrix.Scenario) bool {
	return slices.ContainsFunc(seriesOrder([]matrix.Scenario{s}), func(t report.Trial) bool {
		return b.Traces[t.Name] != nil && len(b.Traces[t.Name].Failovers) > 0
	})
}

// overTime is the plots of one trial. Where it stands for several, they say so.
func (b builder) overTime(t report.Trial, glyphs plot.Glyphs) []*plot.Figure {
	line := b.line(t)
	failovers := []*plot.Figure{plot.Failovers(line), plot.Budget(line)}
	for _, f := range failovers {
		if f != nil && len(line.Pauses) > 0 { // what became of the holder is the answer, and has plots of its own
			f.Answer = false
		}
	}
	out := append(failovers, plot.OverTime(line, glyphs), plot.ThroughputOverTime(line, glyphs), plot.QueueDepth(line))
	for _, f := range out {
		if f != nil && t.Merged > 0 {
			f.About += fmt.Sprintf(" Of the %d trials of this cell this is the worst, or else the first.", t.Merged)
		}
	}
	return out
}

// line is what the trial has to draw over time.
func (b builder) line(t report.Trial) plot.Timeline {
	promise, _ := time.ParseDuration(t.Params["promise"]) // what is no duration is for the threshold to say
	return plot.Timeline{Trial: t.Name, Label: b.names.Label(t.Cell), Clients: t.Clients, Promise: max(promise, 0), Trace: cmp.Or(b.Traces[t.Name], &report.Trace{})}
}
