package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
)

// Section is a part of the page with a heading. Sections are ordered by importance.
type Section struct {
	ID, Title, Intro string
	Marks            []Mark // the kinds of its bars
	Blocks           []Block
	Note             string // at the end
}

// Block is an element of a section; only one of the fields from Explanation on is set.
type Block struct {
	Fold        string // if set, the block is collapsed under this text
	Open        bool   // initially expanded
	Explanation *Explanation
	Table       *Table
	Figures     []*plot.Figure
	Timelines   []Timeline
	Facts       []Fact
	Code        string
}

// openExplanations is the number of explanations that are initially expanded.
const openExplanations = 3

// resultsID is the id of the section with the tables of the run.
const resultsID = "results"

func (b builder) sections(v *View) []Section {
	results := Section{ID: resultsID, Title: "Measurements", Blocks: append(tableBlocks(v.Tables...), overviewBlocks(v.Figures)...)}
	explanations := Section{ID: "explanations", Title: "Violations", Marks: ExplanationMarks, Blocks: explanationBlocks(v.Explanations),
		Intro: "Numbers in the lanes refer to the events below; events in bold prove the violation. The time axis is stretched where many events occur. A commit is shown at the earliest time at which a client can know of it."}
	conditions := Section{ID: "conditions", Title: "Conditions", Blocks: []Block{{Facts: facts(b.Result)}},
		Note: "All times are from one monotonic clock in the process that ran the clients. The latency of an operation is measured from the time at which it was due. " +
			"Notifications, requests and bytes were counted on the wire. A quantile is shown only if there are enough samples for it. An unknown result never counts as a pass."}
	first, second := explanations, results
	switch {
	case b.hasOnly(isAudit): // measurements and passed checks have no meaning for episodes
		results.Title, results.Intro = "Every step, every fault", "Each cell is a separate episode. Failed cells link to their explanation."
		return withBlocks(results, explanations, conditions, b.repeat())
	case b.hasOnly(isZoo):
		results.Title = "Detected defects"
		first, second = results, explanations
	}
	return withBlocks(b.incident(), first, second,
		Section{ID: "causes", Title: "Failovers by cause", Blocks: b.causes(),
			Note: "Release and close return the lock; in the other rows, the session must expire first, unless the holder keeps its grant. The predicted range is the range that ZooKeeper's session expiry allows. In rows with \"leader\" in the name, the leader of the ensemble is stopped, not the holder of the lock."},
		b.timelines(),
		Section{ID: "formulas", Title: "Expected notifications", Blocks: tableBlocks(b.formulas())},
		b.trialSection(v.Figures),
		Section{ID: "checks", Title: "Guarantees and thresholds", Blocks: passedFolded(b.checkTable())},
		Section{ID: "faults", Title: "Faults", Blocks: b.faults()},
		Section{ID: "metrics", Title: "All metrics", Blocks: b.metrics()},
		conditions, b.repeat())
}

func withBlocks(all ...Section) []Section {
	return slices.DeleteFunc(all, func(s Section) bool { return len(s.Blocks) == 0 })
}

// hasOnly reports whether all scenarios of the run are of a kind.
func (b builder) hasOnly(kind func(matrix.Scenario) bool) bool {
	return len(b.scenarios) > 0 && !slices.ContainsFunc(b.scenarios, func(s matrix.Scenario) bool { return !kind(s) })
}

func (b builder) repeat() Section {
	run := b.Result.Run
	s := Section{ID: "repeat", Title: "How to repeat the run", Blocks: []Block{{Code: run.Command}},
		Note: "The run folder contains the histories of all trials. To evaluate them again, use zkbench check; to create the page again, use zkbench report."}
	if b.PageOnly {
		s.Note = "The histories of the trials are not published here; repeating the run records them again."
	}
	if run.Command == "" {
		s.Intro = "The command is unknown."
	}
	return s
}

func explanationBlocks(explanations []Explanation) []Block {
	var out []Block
	for i := range explanations {
		out = append(out, Block{Fold: explanations[i].Title, Open: i < openExplanations, Explanation: &explanations[i]})
	}
	return out
}

func tableBlocks(tables ...Table) (out []Block) {
	for _, t := range withRows(tables...) {
		out = append(out, Block{Table: &t})
	}
	return out
}

// passedFolded collapses the rows that passed or do not affect the result, unless there are no others.
func passedFolded(t Table) []Block {
	at := slices.IndexFunc(t.Rows, func(r Row) bool { return rank(r.Result) <= 0 })
	if at <= 0 {
		return tableBlocks(t)
	}
	rest := t
	t.Rows, rest.Rows = t.Rows[:at], t.Rows[at:]
	return []Block{{Table: &t}, {Table: &rest, Fold: fmt.Sprintf("%d more that passed or do not affect the result", len(rest.Rows))}}
}

// overviewBlocks returns the plots of the whole run, and the plots of single trials that answer
// the scenario's question. Plots for fewer than the largest number of clients are collapsed.
func overviewBlocks(figures []*plot.Figure) []Block {
	most := 0
	for _, f := range figures {
		if f.Trial == "" {
			most = max(most, f.Clients)
		}
	}
	var first, fewer Block
	fewer.Fold = "The same with fewer clients"
	answers := func(f *plot.Figure) int { return map[bool]int{true: 0, false: 1}[f.Answer] }
	figures = slices.SortedStableFunc(slices.Values(figures), func(a, b *plot.Figure) int { return answers(a) - answers(b) })
	for _, f := range figures {
		switch {
		case f.Trial != "" && !f.Answer:
		case f.Trial == "" && f.Clients > 0 && f.Clients != most:
			fewer.Figures = append(fewer.Figures, f)
		default:
			first.Figures = append(first.Figures, f)
		}
	}
	return withFigures(first, fewer)
}

// trialPlots is the number of trials with plots on the page, which limits the size of the page.
const trialPlots = 4

// trialSection shows the plots of the most important trials.
func (b builder) trialSection(figures []*plot.Figure) Section {
	s := Section{ID: "trials", Title: "Trials over time"}
	all := byInterest(b.trials)
	for i, t := range all[:min(len(all), trialPlots)] {
		block := Block{Fold: trialLabel(t.Subject, t) + ", over time", Open: i < 2 || t.Outcome() == report.Fail}
		for _, f := range figures {
			if f.Trial == t.Name && !f.Answer {
				block.Figures = append(block.Figures, f)
			}
		}
		s.Blocks = append(s.Blocks, block)
	}
	if len(all) > trialPlots && !b.PageOnly {
		s.Note = "The plots of the other trials are in the folder " + report.PlotDir + " next to this page."
	}
	s.Blocks = withFigures(s.Blocks...)
	return s
}

func withFigures(blocks ...Block) []Block {
	return slices.DeleteFunc(blocks, func(b Block) bool { return len(b.Figures) == 0 })
}

// byInterest returns failed trials first, then unknown ones; within each group, the most clients first.
func byInterest(trials []report.Trial) []report.Trial {
	return slices.SortedStableFunc(slices.Values(trials), func(a, b report.Trial) int {
		return cmp.Or(rank(b.Outcome())-rank(a.Outcome()), b.Clients-a.Clients)
	})
}

// Fact is a named property of the run.
type Fact struct{ Name, Value string }

func facts(r report.Result) []Fact {
	run := r.Run
	out := []Fact{{"run", run.ID}}
	if !run.Start.IsZero() {
		out = append(out, Fact{"started", run.Start.UTC().Format("2006-01-02 15:04:05 MST")})
	}
	if run.Elapsed > 0 {
		out = append(out, Fact{"took", units.Duration(float64(run.Elapsed))})
	}
	out = append(out, Fact{"ended", cmp.Or(run.EndReason, "when all trials were complete")}, Fact{"seed", strconv.FormatUint(run.Seed, 10)})
	e := run.Ensemble
	about := size(e)
	if len(e.Observers) > 0 {
		about += " (" + units.Clean(strings.Join(e.Observers, ", ")) + ")"
	}
	about += ", " + cmp.Or(e.Kind, "kind unknown")
	if e.About != "" {
		about += ", " + e.About
	}
	if e.Tick > 0 {
		about += ", tick " + units.Duration(float64(e.Tick))
	}
	out = append(out, Fact{"ensemble", about})
	for _, k := range sortedKeys(run.Host) {
		out = append(out, Fact{"host: " + k, run.Host[k]})
	}
	return append(out, Fact{"versions", versions(run)})
}

func origin(run report.Run) string {
	parts := []string{versions(run)}
	if !run.Start.IsZero() {
		parts = append([]string{run.Start.UTC().Format("2006-01-02 15:04 MST")}, parts...)
	}
	if cpus := run.Host["cpus"]; cpus != "" {
		parts = append(parts, units.Clean(fmt.Sprintf("%s with %s processors (%s)", run.Host["os"], cpus, run.Host["cpu"])))
	}
	return fmt.Sprintf("%s, seed %d.", strings.Join(parts, ", "), run.Seed)
}

// versions lists the versions: "zookeeper 3.8.0", and "go1.26" if the version includes the name.
func versions(run report.Run) string {
	var parts []string
	for _, k := range sortedKeys(run.Versions) {
		v := run.Versions[k]
		if !strings.HasPrefix(v, k) {
			v = k + " " + v
		}
		parts = append(parts, units.Clean(v))
	}
	return cmp.Or(strings.Join(parts, ", "), "versions unknown")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
