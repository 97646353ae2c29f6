package view

import (
	"cmp"
	"fmt"
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
	Held     []report.Hold
	Overlaps []verdict.Overlap
	Faults   []report.Fault
	Rounds   []report.Round
	Gaps     []Gap         // times without a leader within rounds
	Says     string        // its content, and its omissions
	Still    explain.Chart // a part of it for paper; only for the first timelines
}

// Gap is a time without a leader.
type Gap struct{ From, To time.Duration }

// barLimit is the largest number of bars of all timelines together, at about 30 bytes each on
// the page.
const barLimit = 10_000

func marksOf(lines []Timeline) []Mark {
	marks := []Mark{{explain.Held, "holds, or leads"}, {"alarm", "two hold at the same time, or no leader"}, {"warned", "exposure"},
		{"proven", "fault active"}, {"unclear", "fault without proof"}}
	if slices.ContainsFunc(lines, func(t Timeline) bool { return len(t.Rounds) > 0 }) {
		marks = append(marks, Mark{"stands", "waits in line"}, Mark{"left", "has to leave"})
	}
	return marks
}

// timelines returns the timelines of the trials with grants, ordered by importance.
func (b builder) timelines() Section {
	s := Section{ID: "holders", Title: "Holders over time",
		Intro: "Each bar is a time during which a client believed that it held the grant."}
	all := slices.DeleteFunc(byInterest(b.Result.Trials), func(t report.Trial) bool {
		trace := b.Traces[t.Name]
		return trace == nil || len(trace.Holds) == 0
	})
	var lines []Timeline
	for i, t := range all {
		line := pack(b.Traces[t.Name], barLimit/len(all))
		if i < stills {
			line.Still = stillChart(b.Traces[t.Name])
		}
		line.Title = trialLabel(b.names.Label(t.Cell), t)
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		s.Blocks, s.Marks = []Block{{Timelines: lines}}, marksOf(lines)
	}
	return s
}

// pack keeps at most limit grants, a quarter as many overlaps and a tenth as many fault
// windows, selected evenly over the whole length of the trial.
func pack(t *report.Trace, limit int) Timeline {
	overlaps := worst(t.Overlaps, limit/4)
	out := Timeline{Held: grants(t.Holds, overlaps, limit), Overlaps: overlaps, Faults: longest(t.Faults, max(limit/10, 50)), Rounds: t.Rounds, Gaps: gapsOf(t)}
	out.From, out.To = extent(t)
	out.Says = out.summary(t)
	return out
}

// summary describes the content of the timeline, and its omissions.
func (t Timeline) summary(all *report.Trace) string {
	clients := map[int]bool{}
	for _, b := range t.Held {
		clients[b.Client] = true
	}
	parts := []string{units.Plural(len(t.Held), "grant") + " of " + units.Plural(len(clients), "client"), units.Plural(len(t.Overlaps), "overlap"), units.Plural(len(t.Faults), "fault")}
	if len(t.Rounds) > 0 {
		var nobody time.Duration
		for _, g := range t.Gaps {
			nobody += g.To - g.From
		}
		parts = append(parts, fmt.Sprintf("%s, without a leader for %s in total", units.Plural(len(t.Rounds), "round"), units.Duration(float64(nobody))))
	}
	s := strings.Join(parts, ", ") + "."
	var missing []string
	left := len(all.Holds) - len(t.Held)
	if left > 0 {
		missing = append(missing, units.Plural(left, "grant")+" of ordinary length, from the whole trial")
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
		s += " A short gap may be an omitted grant."
	}
	if all.Partial != "" {
		s += " The history is incomplete: " + units.Clean(all.Partial)
	}
	return s
}

// gapsOf returns the times without a leader in the rounds of successions, after the first term
// of each round.
func gapsOf(t *report.Trace) []Gap {
	terms := byStart(t.Holds)
	var out []Gap
	for _, r := range t.Rounds {
		if len(r.Line) == 0 {
			continue
		}
		covered := time.Duration(-1)
		for _, b := range terms {
			if b.End < r.Line[0].From || b.Start >= r.End {
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
