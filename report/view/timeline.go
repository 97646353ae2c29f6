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

// Timeline is who held when in one trial, to be looked at closely. Of a long trial it has
// what matters most, chosen over its whole length.
type Timeline struct {
	Title    string
	From, To time.Duration
	Held     []report.Hold
	Overlaps []verdict.Overlap
	Faults   []report.Fault
	Rounds   []report.Round
	Gaps     []Gap         // of rounds, in which nobody led
	Says     string        // what there is, and what is left out
	Still    explain.Chart // a part of it, to be seen where nobody can zoom; empty but for the first ones
}

// Gap is a time in which nobody led.
type Gap struct{ From, To time.Duration }

// barLimit bounds the bars of all timelines together; about 30 bytes each on the page.
const barLimit = 10_000

// marksOf are the marks of timelines.
func marksOf(lines []Timeline) []Mark {
	marks := []Mark{{explain.Held, "holds, or leads"}, {"alarm", "two at once, or nobody leads"}, {"warned", "exposure"},
		{"proven", "fault in force"}, {"unclear", "fault without proof"}}
	if slices.ContainsFunc(lines, func(t Timeline) bool { return len(t.Rounds) > 0 }) {
		marks = append(marks, Mark{"stands", "stands in line"}, Mark{"left", "made to leave"})
	}
	return marks
}

// timelines has the trials in which somebody held, by their interest.
func (b builder) timelines() Section {
	s := Section{ID: "holders", Title: "Who held when",
		Intro: "Each bar is the time in which a client believed that it held the grant."}
	all := slices.DeleteFunc(byInterest(b.Result.Trials), func(t report.Trial) bool {
		trace := b.Traces[t.Name]
		return trace == nil || len(trace.Holds) == 0
	})
	var lines []Timeline
	for i, t := range all {
		line := pack(b.Traces[t.Name], barLimit/len(all))
		if i < stills {
			line.Still = still(b.Traces[t.Name])
		}
		line.Title = where(b.names.Label(t.Cell), t)
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		s.Blocks, s.Marks = []Block{{Timelines: lines}}, marksOf(lines)
	}
	return s
}

// pack keeps at most limit grants, a quarter as many overlaps and a tenth as many fault
// windows, chosen over the whole length of the trial: what happens late in it counts for
// as much as what happens first.
func pack(t *report.Trace, limit int) Timeline {
	overlaps := worst(t.Overlaps, limit/4)
	out := Timeline{Held: grants(t.Holds, overlaps, limit), Overlaps: overlaps, Faults: longest(t.Faults, max(limit/10, 50)), Rounds: t.Rounds, Gaps: gapsOf(t)}
	out.From, out.To = extent(t)
	out.Says = out.summary(t)
	return out
}

// summary says what there is, and what is left out.
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
		parts = append(parts, fmt.Sprintf("%s, in which nobody led for %s in all", units.Plural(len(t.Rounds), "round"), units.Duration(float64(nobody))))
	}
	s := strings.Join(parts, ", ") + "."
	var missing []string
	left := len(all.Holds) - len(t.Held)
	if left > 0 {
		missing = append(missing, units.Plural(left, "grant")+" of ordinary length, all over the trial")
	}
	if n := len(all.Overlaps) - len(t.Overlaps); n > 0 {
		missing = append(missing, units.Plural(n, "overlap"))
	}
	if n := len(all.Faults) - len(t.Faults); n > 0 {
		missing = append(missing, units.Plural(n, "fault"))
	}
	if len(missing) > 0 {
		s += " Not drawn, to keep the page small: " + strings.Join(missing, "; ") + "."
	}
	if left > 0 {
		s += " A short time without a bar may be a grant that is not drawn."
	}
	if all.Partial != "" {
		s += " The history is incomplete: " + units.Clean(all.Partial)
	}
	return s
}

// gapsOf returns the times in the rounds of successions, after the first term of each, in
// which nobody led.
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
