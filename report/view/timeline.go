package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

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

// timelines returns the timelines of the trials with grants, ordered by importance.
func (b builder) timelines() Section {
	s := Section{ID: "holders", Title: "Holders over time",
		Intro: "Each bar is a time during which a client believed that it held the grant."}
	all := slices.DeleteFunc(byInterest(b.Result.Trials), func(t report.Trial) bool {
		return len(b.trace(t.Name).Holds) == 0
	})
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

// sample returns at most limit values, at equal distances.
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
