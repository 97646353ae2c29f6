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
	if slices.ContainsFunc(lines, func(t Timeline) bool {
		return slices.ContainsFunc(t.Held, func(h report.Hold) bool { return h.Reads })
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

// worst selects overlaps: violations before exposures, then the longest. The result is ordered
// by start, as the script requires.
func worst(all []verdict.Overlap, limit int) []verdict.Overlap {
	exposure := map[bool]int{true: 1}
	chosen := slices.SortedStableFunc(slices.Values(all), func(a, b verdict.Overlap) int {
		return cmp.Or(exposure[a.Exposure]-exposure[b.Exposure], cmp.Compare(b.End-b.Start, a.End-a.Start))
	})
	chosen = chosen[:min(len(chosen), limit)]
	slices.SortStableFunc(chosen, func(a, b verdict.Overlap) int { return cmp.Compare(a.Start, b.Start) })
	return chosen
}

func longest(all []report.Fault, limit int) []report.Fault {
	chosen := slices.SortedStableFunc(slices.Values(all), func(a, b report.Fault) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	chosen = chosen[:min(len(chosen), limit)]
	slices.SortStableFunc(chosen, func(a, b report.Fault) int { return cmp.Compare(a.Start, b.Start) })
	return chosen
}

// sliceGrants is the number of grants per time slice.
const sliceGrants = 20

// grants selects at most limit grants: those in the overlaps, of which there may be at most a
// quarter as many, and then a fair share from each of equal slices of time.
func grants(all []report.Hold, overlaps []verdict.Overlap, limit int) []report.Hold {
	all = byStart(all)
	if len(all) <= limit {
		return all
	}
	keep, room := overlapping(all, overlaps), limit
	parts := make([][]int, max(1, limit/sliceGrants))
	from, last := all[0].Start, all[len(all)-1].Start
	for i, b := range all {
		if keep[i] {
			room--
			continue
		}
		k := int(float64(b.Start-from) / float64(last-from+1) * float64(len(parts)))
		parts[k] = append(parts[k], i)
	}
	empty := gaps(all)
	for k, n := range fairShares(parts, room) {
		for _, i := range notable(parts[k], n, all, empty) {
			keep[i] = true
		}
	}
	var out []report.Hold
	for i, b := range all {
		if keep[i] {
			out = append(out, b)
		}
	}
	return out
}

// overlapping marks, for each overlap, the grant of either client in which it begins.
func overlapping(all []report.Hold, overlaps []verdict.Overlap) []bool {
	starts := map[int][]time.Duration{} // by client, in order; removed when their grant is found
	for _, o := range overlaps {
		for _, c := range []int{o.Older, o.Newer} {
			starts[c] = append(starts[c], o.Start)
		}
	}
	keep := make([]bool, len(all))
	for i, b := range all {
		s := starts[b.Client]
		first, _ := slices.BinarySearch(s, b.Start)
		end, _ := slices.BinarySearch(s, b.End)
		if first < end {
			keep[i], starts[b.Client] = true, slices.Delete(s, first, end)
		}
	}
	return keep
}

// gaps returns, for each grant, the longer of the two times without a holder before and after
// it. Grants must be ordered by start.
func gaps(all []report.Hold) []time.Duration {
	out := make([]time.Duration, len(all))
	last := 0 // index of the grant that ends last so far
	for i, b := range all {
		if gap := b.Start - all[last].End; gap > 0 {
			out[last], out[i] = max(out[last], gap), gap
		}
		if b.End > all[last].End {
			last = i
		}
	}
	return out
}

// fairShares divides room among the parts. Parts that need less leave the rest to others.
func fairShares(parts [][]int, room int) []int {
	shares, order := make([]int, len(parts)), make([]int, len(parts))
	for k := range parts {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(parts[a]) - len(parts[b]) })
	for i, k := range order {
		shares[k] = min(len(parts[k]), max(room, 0)/(len(order)-i))
		room -= shares[k]
	}
	return shares
}

// notable selects n of some grants, alternating between the longest grant and the grant next to
// the longest time without a holder.
func notable(some []int, n int, all []report.Hold, empty []time.Duration) []int {
	most := func(of func(i int) time.Duration) []int {
		return slices.SortedStableFunc(slices.Values(some), func(a, b int) int { return cmp.Compare(of(b), of(a)) })
	}
	long := most(func(i int) time.Duration { return all[i].End - all[i].Start })
	beside := most(func(i int) time.Duration { return empty[i] })
	var out []int
	taken := map[int]bool{}
	for rank := 0; len(out) < n; rank++ {
		for _, i := range []int{long[rank], beside[rank]} {
			if len(out) < n && !taken[i] {
				out, taken[i] = append(out, i), true
			}
		}
	}
	return out
}
