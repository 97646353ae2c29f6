package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

func (b builder) figures() []*plot.Figure {
	if b.Traces == nil {
		return nil
	}
	// Trials with a script are explained, not measured: their plots have no meaning.
	all := matrix.GroupScenarios(slices.DeleteFunc(slices.Clone(b.Result.Trials), func(t report.Trial) bool { return t.Script != "" }))
	var labels []string
	for _, s := range all {
		labels = append(labels, units.Names(s.Series, func(x matrix.Series) string { return x.Label })...)
	}
	glyphs := plot.NewGlyphs(labels)
	var out []*plot.Figure
	for _, s := range all {
		figs := b.overview(s, glyphs)
		for _, t := range s.Merged().Trials() { // the worst trial of a repeated cell
			figs = append(figs, b.timelineFigures(t, glyphs)...)
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

func (b builder) overview(s matrix.Scenario, glyphs plot.Glyphs) []*plot.Figure {
	merged := s.Merged()
	out := []*plot.Figure{plot.PauseRounds(b.pauses(merged))}
	out = append(out, b.capacityFigures(s, glyphs)...)
	out = append(out, plot.FanOut(merged, glyphs), plot.HandoffStages(merged), plot.Flap(merged, glyphs))
	for _, l := range measuredLatencies(s.Trials()) {
		if b.hasFailovers(s) && (l.Name == metrics.FailoverLatency || l.Name == metrics.LeaderlessTime) {
			continue // the plots by cause show more
		}
		out = append(out, plot.Growth(merged, l.Name, l.Head, glyphs))
		for _, n := range slices.Backward(s.Counts) {
			out = append(out, plot.Percentiles(merged, n, l.Name, l.Head, glyphs))
		}
	}
	return out
}

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

func (b builder) hasFailovers(s matrix.Scenario) bool {
	return slices.ContainsFunc(s.Trials(), func(t report.Trial) bool { return len(b.trace(t.Name).Failovers) > 0 })
}

func (b builder) timelineFigures(t report.Trial, glyphs plot.Glyphs) []*plot.Figure {
	line := b.timelineOf(t)
	failovers := []*plot.Figure{plot.Failovers(line), plot.FailoverStages(line)}
	for _, f := range failovers {
		if f != nil && len(line.Pauses) > 0 { // the plots of the pauses answer the question instead
			f.Answer = false
		}
	}
	out := append(failovers, plot.OverTime(line, glyphs), plot.HoldersAtOnce(line))
	for _, f := range out {
		if f != nil && t.Merged > 0 {
			f.About += fmt.Sprintf(" The cell has %d trials. The plot shows the worst of them, or the first if all are equal.", t.Merged)
		}
	}
	return out
}

func (b builder) timelineOf(t report.Trial) plot.Timeline {
	promise, _ := time.ParseDuration(t.Params["promise"]) // the threshold reports an invalid duration
	return plot.Timeline{Trial: t.Name, Label: b.names.Label(t.Cell), Clients: t.Clients, Promise: max(promise, 0), Trace: b.trace(t.Name)}
}

func (b builder) trace(trial string) *report.Trace { return cmp.Or(b.Traces[trial], &report.Trace{}) }

func capacityText(label string, t report.Trial) string {
	m := t.Metrics[metrics.Capacity]
	if m.Value == nil {
		return ""
	}
	return fmt.Sprintf("With a rising arrival rate, %s kept up to a rate of %s; %s.", label, units.Quantity(*m.Value, m.Unit), m.Note)
}

// capacityFigures returns a figure for each ramp and number of clients, the largest first.
func (b builder) capacityFigures(s matrix.Scenario, glyphs plot.Glyphs) (out []*plot.Figure) {
	ramps := func(trial string) []metrics.Ramp { return b.trace(trial).Ramps }
	var all []metrics.Ramp
	for _, t := range s.Trials() {
		all = append(all, ramps(t.Name)...)
	}
	phases := matrix.Distinct(all, func(r metrics.Ramp) string { return r.Phase })
	for _, n := range slices.Backward(s.Counts) {
		for _, p := range phases {
			out = append(out, plot.Capacity(s, n, p, ramps, glyphs))
		}
	}
	return out
}

// overlapText returns a sentence with the longest time for which two clients believed that they held; "" if none.
func overlapText(x matrix.Series) string {
	longest := 0.0
	for _, t := range x.Trials {
		m := t.Metrics[metrics.BeliefOverlap]
		for _, v := range []*float64{m.Max, m.Value} {
			if v != nil {
				longest = max(longest, *v)
			}
		}
	}
	if longest <= 0 {
		return ""
	}
	return fmt.Sprintf("In %s, two clients believed for up to %s at the same time that they held the grant. The verdicts show whether this is a violation.", x.Label, units.Duration(longest))
}

// promiseText states whether all measured failovers kept the promised failover time, and whether the
// predicted range, which includes longer failovers, is within it.
func promiseText(label string, t report.Trial) string {
	promise, err := time.ParseDuration(t.Params["promise"])
	m := t.Metrics[metrics.FailoverLatency]
	if err != nil || m.Max == nil {
		return ""
	}
	why := cmp.Or(m.Note, "the longest failover took "+units.Duration(*m.Max))
	predicted := t.Metrics[metrics.FailoverPredicted].Value
	answer := "%s met the promised failover time of %s, and the predicted range is within it: %s."
	switch {
	case *m.Max > float64(promise):
		answer = "%s exceeded the promised failover time of %s: %s."
	case m.Missing > 0:
		answer = "It is unknown whether %s met the promised failover time of %s: %s."
		why = units.Plural(int(m.Missing), "failover") + " ended without a grant"
	case predicted == nil:
		answer = "%s met the promised failover time of %s in every measured failover: %s."
	case *predicted > float64(promise):
		answer = "%s met the promised failover time of %s in every measured failover, but cannot guarantee it: failovers of up to " + units.Duration(*predicted) + " are predicted; %s."
	}
	return fmt.Sprintf(answer, label, units.Duration(float64(promise)), strings.TrimSuffix(why, "."))
}

// stagesText describes the longest stage of a hand-off, with the most contenders; "" if it is unknown.
func stagesText(x matrix.Series) string {
	var last report.Trial
	for _, t := range x.Trials {
		if t.Clients > last.Clients && metrics.MedianStages(t.Metrics) != nil {
			last = t
		}
	}
	parts := metrics.MedianStages(last.Metrics)
	if parts == nil {
		return ""
	}
	longest, sum := 0, time.Duration(0)
	for i, d := range parts {
		if sum += d; d > parts[longest] {
			longest = i
		}
	}
	if sum == 0 {
		return ""
	}
	text := fmt.Sprintf("In the drain phase of %s, the longest stage of a hand-off is %s: %s, which is %.0f %% of the sum of all stages, %s (medians)",
		trialLabel(x.Label, last), metrics.HandoffStages[longest].Label, units.Duration(float64(parts[longest])),
		100*float64(parts[longest])/float64(sum), units.Duration(float64(sum)))
	if whole := cmp.Or(last.Metrics[metrics.HandoffLatencyDrain].P50, last.Metrics[metrics.HandoffLatency].P50); whole != nil {
		text += fmt.Sprintf("; the median of the whole hand-off is %s", units.Duration(*whole))
	}
	if floor := last.Metrics[metrics.HandoffFloor].P50; floor != nil {
		text += fmt.Sprintf("; a delete and a read by another client in the same drain took %s", units.Duration(*floor))
	}
	if fsync := last.Metrics[metrics.MemberFsync].Value; fsync != nil {
		text += fmt.Sprintf("; the members' forced writes took less than %s on average", units.Duration(*fsync+float64(time.Millisecond))) // their counters round down
	}
	return text + "."
}

// Timeline shows the holders of one trial over time. For a long trial it contains a sample.
type Timeline struct {
	Title    string
	From, To time.Duration
	Holds    []report.Hold
	Overlaps []verdict.Overlap
	Faults   []report.Fault
	Rounds   []report.Round
	Summary  string // describes the content and the omissions
}

const barLimit = 10_000 // of all timelines together, at about 30 bytes each on the page

func timelineMarks(lines []Timeline) []Mark {
	marks := []Mark{{explain.HoldBar, "holds, or leads"}, {"alarm", "two clients hold at once"}, {"warned", "exposure"},
		{"proven", "fault active"}, {"unclear", "fault without proof"}}
	if slices.ContainsFunc(lines, func(t Timeline) bool { return len(t.Rounds) > 0 }) {
		marks = append(marks, Mark{"waits", "waits in line"}, Mark{"leaves", "has to leave"})
	}
	if slices.ContainsFunc(lines, func(t Timeline) bool {
		return slices.ContainsFunc(t.Holds, func(h report.Hold) bool { return h.Reads })
	}) {
		marks = append(marks, Mark{"waits", "holds for reading"})
	}
	return marks
}

func (b builder) timelines() Section {
	s := Section{ID: "holders", Title: "Holders over time",
		Intro: "Each bar is a time during which a client believed that it held the grant."}
	all := slices.DeleteFunc(byInterest(b.Result.Trials), func(t report.Trial) bool { return len(b.trace(t.Name).Holds) == 0 })
	var lines []Timeline
	for _, t := range all {
		line := limitTimeline(b.Traces[t.Name], barLimit/len(all))
		line.Title = trialLabel(b.names.Label(t.Cell), t)
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		s.Blocks, s.Marks = []Block{{Timelines: lines}}, timelineMarks(lines)
	}
	return s
}

// limitTimeline returns the timeline with at most limit grants, a quarter as many overlaps and a tenth as many
// faults. Of more grants or faults, it contains a sample at equal distances; of more overlaps, violations before
// exposures.
func limitTimeline(t *report.Trace, limit int) Timeline {
	overlaps := slices.SortedStableFunc(slices.Values(t.Overlaps), func(a, b verdict.Overlap) int {
		exposure := map[bool]int{true: 1}
		return exposure[a.Exposure] - exposure[b.Exposure]
	})
	out := Timeline{Holds: sample(t.Holds, limit), Overlaps: overlaps[:min(len(overlaps), limit/4)], Faults: sample(t.Faults, max(limit/10, 50)), Rounds: t.Rounds}
	out.From, out.To = extent(t)
	out.Summary = out.summarize(t)
	return out
}

func sample[T any](all []T, limit int) []T {
	if len(all) <= limit {
		return all
	}
	var out []T
	for i := range limit {
		out = append(out, all[i*len(all)/limit])
	}
	return out
}

func (t Timeline) summarize(all *report.Trace) string {
	part := func(shown, total int, noun string) string {
		if shown < total {
			return fmt.Sprintf("%d of %s", shown, units.Plural(total, noun))
		}
		return units.Plural(total, noun)
	}
	s := strings.Join([]string{part(len(t.Holds), len(all.Holds), "grant"), part(len(t.Overlaps), len(all.Overlaps), "overlap"), part(len(t.Faults), len(all.Faults), "fault")}, ", ") + "."
	if len(t.Holds) < len(all.Holds) {
		s += " A gap between bars may be an omitted grant."
	}
	if all.IncompleteReason != "" {
		s += " The history is incomplete: " + units.Clean(all.IncompleteReason)
	}
	return s
}

// extent returns the time range of the trial, including omitted parts.
func extent(t *report.Trace) (from, to time.Duration) {
	if len(t.Holds) > 0 {
		from, to = t.Holds[0].Start, t.Holds[0].End
	}
	for _, b := range t.Holds {
		from, to = min(from, b.Start), max(to, b.End)
	}
	for _, w := range t.Faults {
		from, to = min(from, w.Start), max(to, w.End)
	}
	return from, to
}
