package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Timeline shows the holders of one trial over time. For a long trial it contains the most
// important parts, selected over its whole length.
type Timeline struct {
	Title    string
	From, To time.Duration
	Holds    []report.Hold
	Overlaps []verdict.Overlap
	Faults   []report.Fault
	Rounds   []report.Round
	Gaps     []Gap         // times without a leader within rounds
	Says     string        // describes the content and the omissions
	Still    explain.Chart // a part of it for paper; only for the first timelines
}

// Gap is a time without a leader.
type Gap struct{ From, To time.Duration }

const (
	barLimit    = 10_000 // of all timelines together, at about 30 bytes each on the page
	stills      = 3      // timelines on a page that have a still chart
	stillGrants = 60
	stillLanes  = 20
)

func timelineMarks(lines []Timeline) []Mark {
	marks := []Mark{{explain.HoldBar, "holds, or leads"}, {"alarm", "two clients hold at once, or no client leads"}, {"warned", "exposure"},
		{"proven", "fault active"}, {"unclear", "fault without proof"}}
	if slices.ContainsFunc(lines, func(t Timeline) bool { return len(t.Rounds) > 0 }) {
		marks = append(marks, Mark{"stands", "waits in line"}, Mark{"left", "has to leave"})
	}
	if slices.ContainsFunc(lines, func(t Timeline) bool {
		return slices.ContainsFunc(t.Holds, func(h report.Hold) bool { return h.Reads })
	}) {
		marks = append(marks, Mark{"stands", "holds for reading"})
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
	for i, t := range all {
		line := limitTimeline(b.Traces[t.Name], barLimit/len(all))
		if i < stills {
			line.Still = printChart(b.Traces[t.Name])
		}
		line.Title = trialLabel(b.names.Label(t.Cell), t)
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		s.Blocks, s.Marks = []Block{{Timelines: lines}}, timelineMarks(lines)
	}
	return s
}

// limitTimeline returns the timeline with at most limit grants, a quarter as many overlaps and a tenth as many fault windows.
func limitTimeline(t *report.Trace, limit int) Timeline {
	overlaps := worst(t.Overlaps, limit/4)
	out := Timeline{Holds: grants(t.Holds, overlaps, limit), Overlaps: overlaps, Faults: longest(t.Faults, max(limit/10, 50)), Rounds: t.Rounds, Gaps: gapsOf(t)}
	out.From, out.To = extent(t)
	out.Says = out.summary(t)
	return out
}

// summary describes the content of the timeline, and its omissions.
func (t Timeline) summary(all *report.Trace) string {
	clients := map[int]bool{}
	for _, b := range t.Holds {
		clients[b.Client] = true
	}
	parts := []string{units.Plural(len(t.Holds), "grant") + " of " + units.Plural(len(clients), "client"), units.Plural(len(t.Overlaps), "overlap"), units.Plural(len(t.Faults), "fault")}
	if len(t.Rounds) > 0 {
		var nobody time.Duration
		for _, g := range t.Gaps {
			nobody += g.To - g.From
		}
		parts = append(parts, fmt.Sprintf("%s, without a leader for %s in total", units.Plural(len(t.Rounds), "round"), units.Duration(float64(nobody))))
	}
	s := strings.Join(parts, ", ") + "."
	var missing []string
	left := len(all.Holds) - len(t.Holds)
	if left > 0 {
		missing = append(missing, units.Plural(left, "grant")+" of ordinary length, throughout the trial")
	}
	if n := len(all.Overlaps) - len(t.Overlaps); n > 0 {
		missing = append(missing, units.Plural(n, "overlap"))
	}
	if n := len(all.Faults) - len(t.Faults); n > 0 {
		missing = append(missing, units.Plural(n, "fault"))
	}
	if len(missing) > 0 {
		s += " Omitted to keep the page small: " + strings.Join(missing, "; ") + "."
	}
	if left > 0 {
		s += " A short gap between bars may be an omitted grant."
	}
	if all.IncompleteReason != "" {
		s += " The history is incomplete: " + units.Clean(all.IncompleteReason)
	}
	return s
}

// gapsOf returns the times without a leader in each round of a succession, after the round's first term.
func gapsOf(t *report.Trace) []Gap {
	terms := byStart(t.Holds)
	var out []Gap
	for _, r := range t.Rounds {
		if len(r.Waiters) == 0 {
			continue
		}
		covered := time.Duration(-1)
		for _, b := range terms {
			if b.End < r.Waiters[0].From || b.Start >= r.End {
				continue
			}
			if covered >= 0 && b.Start > covered {
				out = append(out, Gap{covered, b.Start})
			}
			covered = max(covered, b.End)
		}
	}
	return out
}

func byStart(all []report.Hold) []report.Hold {
	return slices.SortedStableFunc(slices.Values(all), func(a, b report.Hold) int { return cmp.Compare(a.Start, b.Start) })
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

// worst returns at most limit overlaps, sorted by start: violations before exposures, longer overlaps first.
func worst(all []verdict.Overlap, limit int) []verdict.Overlap {
	exposure := map[bool]int{true: 1}
	chosen := slices.SortedStableFunc(slices.Values(all), func(a, b verdict.Overlap) int {
		return cmp.Or(exposure[a.Exposure]-exposure[b.Exposure], cmp.Compare(b.End-b.Start, a.End-a.Start))
	})
	return slices.SortedStableFunc(slices.Values(chosen[:min(len(chosen), limit)]), func(a, b verdict.Overlap) int { return cmp.Compare(a.Start, b.Start) })
}

// longest returns at most limit faults, sorted by start.
func longest(all []report.Fault, limit int) []report.Fault {
	chosen := slices.SortedStableFunc(slices.Values(all), func(a, b report.Fault) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	return slices.SortedStableFunc(slices.Values(chosen[:min(len(chosen), limit)]), func(a, b report.Fault) int { return cmp.Compare(a.Start, b.Start) })
}

// grants returns at most limit grants, sorted by start. Half of them are the grants in which an overlap
// begins, of which there must be at most limit/2, and then those that are long, or next to a long time
// without a holder. The other half is evenly spread over the trial.
func grants(all []report.Hold, overlaps []verdict.Overlap, limit int) []report.Hold {
	all = byStart(all)
	if len(all) <= limit {
		return all
	}
	length := make([]time.Duration, len(all)) // or of the time without a holder, if that is longer
	rest := make([]int, len(all))
	last := 0 // index of the grant that ends last so far
	for i, b := range all {
		gap := b.Start - all[last].End
		length[i], length[last] = max(length[i], gap, b.End-b.Start), max(length[last], gap)
		if b.End > all[last].End {
			last = i
		}
		rest[i] = i
	}
	for _, i := range overlapping(all, overlaps) {
		length[i] = math.MaxInt64
	}
	slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(length[b], length[a]) })
	keep := slices.Clone(rest[:limit/2])
	rest = slices.Sorted(slices.Values(rest[limit/2:]))
	for k, room := 0, limit-limit/2; k < room; k++ {
		keep = append(keep, rest[k*len(rest)/room])
	}
	slices.Sort(keep)
	return pick(all, keep)
}

// overlapping returns, for each overlap and each of its two clients, the index of the grant in which the overlap begins.
func overlapping(all []report.Hold, overlaps []verdict.Overlap) (out []int) {
	starts := map[int][]time.Duration{} // by client, in order; removed when their grant is found
	for _, o := range overlaps {
		for _, c := range []int{o.Older, o.Newer} {
			starts[c] = append(starts[c], o.Start)
		}
	}
	for i, b := range all {
		s := starts[b.Client]
		first, _ := slices.BinarySearch(s, b.Start)
		end, _ := slices.BinarySearch(s, b.End)
		if first < end {
			out, starts[b.Client] = append(out, i), slices.Delete(s, first, end)
		}
	}
	return out
}

// printChart returns the part for paper, around the first overlap, or else the first fault.
func printChart(t *report.Trace) explain.Chart {
	all := byStart(t.Holds)
	if len(all) == 0 {
		return explain.Chart{}
	}
	centre := all[0].Start
	if len(t.Faults) > 0 {
		centre = t.Faults[0].Start
	}
	if len(t.Overlaps) > 0 {
		centre = worst(t.Overlaps, 1)[0].Start
	}
	at, _ := slices.BinarySearchFunc(all, centre, func(b report.Hold, c time.Duration) int { return int(b.Start - c) })
	first := max(0, min(at-stillGrants/3, len(all)-stillGrants))
	all = all[first:min(first+stillGrants, len(all))]
	c := explain.Chart{From: all[0].Start, To: all[0].End}
	for _, b := range all {
		c.To = max(c.To, b.End)
	}
	for _, r := range t.Rounds {
		for _, s := range r.Waiters {
			c.Add(s.Client, s.From, s.To, explain.WaitBar)
		}
	}
	for _, b := range all {
		c.Add(b.Client, b.Start, b.End, explain.HoldBar)
	}
	c.Lanes = c.Lanes[:min(len(c.Lanes), stillLanes)]
	for _, w := range t.Faults {
		c.Add(-1, w.Start, max(w.Start, w.End), explain.FaultBar)
	}
	return c
}
