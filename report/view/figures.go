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

// figures returns every plot that has data; none without traces.
func (b builder) figures() []*plot.Figure {
	if b.Traces == nil {
		return nil
	}
	// Trials with a provocation are explained, not measured: their plots have no meaning.
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
		for _, x := range s.Merged().Series { // the worst trial of a repeated cell
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

// overview returns the plots that compare the series of a scenario.
func (b builder) overview(s matrix.Scenario, glyphs plot.Glyphs) []*plot.Figure {
	merged := s.Merged()
	pauses := b.pauses(merged)
	out := []*plot.Figure{plot.Paused(pauses), plot.Resumed(pauses)}
	out = append(out, b.capacityFigures(s, glyphs)...)
	out = append(out, plot.FanOut(merged, glyphs), plot.Flap(merged, glyphs))
	for _, l := range measuredLatencies(seriesOrder([]matrix.Scenario{s})) {
		if b.byCause(s) && (l.Name == metrics.FailoverLatency || l.Name == metrics.LeaderlessTime) {
			continue // the plots by cause show more
		}
		out = append(out, plot.Growth(merged, l.Name, l.Head, glyphs))
		for _, n := range slices.Backward(s.Counts) {
			dists := plot.Latencies(s, n, l.Name, func(trial string) []float64 { return cmp.Or(b.Traces[trial], &report.Trace{}).Latencies[l.Name] })
			out = append(out, plot.Percentiles(l.Name, l.Head, s.Count(n), dists, glyphs))
		}
	}
	return append(out, plot.Throughput(s, glyphs))
}

// pauses returns the rounds in which a holder's process was paused, by series and number of clients.
func (b builder) pauses(s matrix.Scenario) (out []plot.Pauses) {
	for _, x := range s.Series {
		for _, t := range x.Trials {
			p := plot.Pauses{Label: x.Label, Rounds: b.timelineOf(t).Pauses}
			if len(s.Counts) > 1 {
				p.Label = trialLabel(x.Label, t)
			}
			if len(p.Rounds) > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// byCause reports whether a trial of the scenario has rounds of failovers.
func (b builder) byCause(s matrix.Scenario) bool {
	return slices.ContainsFunc(seriesOrder([]matrix.Scenario{s}), func(t report.Trial) bool {
		return b.Traces[t.Name] != nil && len(b.Traces[t.Name].Failovers) > 0
	})
}

// overTime returns the plots of one trial.
func (b builder) overTime(t report.Trial, glyphs plot.Glyphs) []*plot.Figure {
	line := b.timelineOf(t)
	failovers := []*plot.Figure{plot.Failovers(line), plot.Budget(line)}
	for _, f := range failovers {
		if f != nil && len(line.Pauses) > 0 { // the plots of the pauses answer the question instead
			f.Answer = false
		}
	}
	out := append(failovers, plot.OverTime(line, glyphs), plot.ThroughputOverTime(line, glyphs), plot.QueueDepth(line))
	for _, f := range out {
		if f != nil && t.Merged > 0 {
			f.About += fmt.Sprintf(" The cell has %d trials; this is the worst, or the first if all are equal.", t.Merged)
		}
	}
	return out
}

func (b builder) timelineOf(t report.Trial) plot.Timeline {
	promise, _ := time.ParseDuration(t.Params["promise"]) // the threshold reports an invalid duration
	return plot.Timeline{Trial: t.Name, Label: b.names.Label(t.Cell), Clients: t.Clients, Promise: max(promise, 0), Trace: cmp.Or(b.Traces[t.Name], &report.Trace{})}
}
