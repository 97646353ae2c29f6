package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// part is a section of the page of measurements, with the figures and tables of one run.
type part struct {
	title, text string
	of          string   // the exhibit
	figures     []string // kinds of figures
	tables      func(*view.View) []view.Table
}

var parts = []part{
	{"The herd", "All contenders wait in line, and the line drains. If every waiter watches the parent, one release notifies all of them; " +
		"where each watches the node before its own, it wakes one. Notifications were counted on the wire, frame by frame. Then the same contenders fight for the lock, and a hand-off is timed from the call to release to the next grant.",
		"herd", []string{"fanout", "handoff-by-clients"}, all},
	{"Stages of a failover", "The holder is removed in several ways. The time until the next client holds the lock is compared with the bounds of ZooKeeper's own arithmetic. " +
		"Nearly all of it is waiting for the session to expire: the session timeout decides, not the recipe.",
		"failover", []string{"failover", "failover-budget"}, all},
	{"Every step, every fault", "Every step of a recipe's protocol (a request, a reply, a notification, a call) meets every fault that fits it, in an episode of its own. " +
		"Every client must acquire again after recovery, and every guarantee must hold.",
		"audit", nil, matrices},
	{"The paused holder", "The holder's process is stopped (SIGSTOP) until its session has expired and the next client holds the lock, and is then resumed. " +
		"No lock can prevent the write that the holder was about to make; a fencing token can, if the resource checks it.",
		"paused-holder", []string{"paused", "resumed"}, all},
}

func all(v *view.View) []view.Table { return v.Tables }

func matrices(v *view.View) []view.Table {
	return slices.DeleteFunc(slices.Clone(v.Tables), func(t view.Table) bool { return len(t.Marks) == 0 })
}

func measured(runs []shown) (text string, figures map[string]*plot.Figure) {
	var b strings.Builder
	figures = map[string]*plot.Figure{}
	b.WriteString(made + "# ZooKeeper recipes, measured\n\n" + method(runs))
	for _, p := range parts {
		i := slices.IndexFunc(runs, func(s shown) bool { return s.name == p.of })
		if i >= 0 {
			p.write(&b, runs[i], figures)
		}
	}
	incidents(&b, runs)
	return b.String(), figures
}

// write writes the section to b, and adds its figures to figures.
func (p part) write(b *strings.Builder, s shown, figures map[string]*plot.Figure) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n**%s**\n", p.title, p.text, units.Markdown(s.view.Verdict))
	for _, want := range p.figures {
		for _, f := range s.view.Figures {
			if kind(f) != want {
				continue
			}
			name := p.file(f, figures)
			figures[name] = f
			fmt.Fprintf(b, "\n![%s](%s)\n\n%s\n", units.Markdown(f.Title), name, units.Markdown(f.About))
		}
	}
	for _, t := range p.tables(s.view) {
		render.MarkdownTable(b, t)
	}
	fmt.Fprintf(b, "\nThe whole report: [%s.html](%s.html). To run it again:\n\n    %s\n", s.folder(), s.folder(), s.command())
}

// file returns the figure's file name: scenario, kind and, if that name is taken, trial.
func (p part) file(f *plot.Figure, taken map[string]*plot.Figure) string {
	name := kind(f)
	if !strings.HasPrefix(name, p.of) {
		name = p.of + "-" + name
	}
	file := "measured/" + name + ".svg"
	if taken[file] != nil {
		file = "measured/" + name + "-" + f.Trial + ".svg"
	}
	return file
}

func method(runs []shown) string {
	if len(runs) == 0 {
		return "Nothing was run.\n"
	}
	r := runs[0].run.Run
	var facts []string
	for _, k := range slices.Sorted(maps.Keys(r.Host)) {
		facts = append(facts, k+" "+r.Host[k])
	}
	var versions []string
	for _, k := range slices.Sorted(maps.Keys(r.Versions)) {
		versions = append(versions, k+" "+r.Versions[k])
	}
	return fmt.Sprintf(`Everything ran on one machine: the three members, all clients and zkbench. Latencies apply to that machine only; compare
ratios within one run, and counts. All times of a run come from one monotonic clock; messages on the wire were counted
frame by frame; the outcome of each request is read from the members' transaction logs. A verdict that could not be
determined is unknown, never a pass. [Metrics and results explained](../NUMBERS.md) has the details.

| | |
|---|---|
| machine | %s |
| ensemble | %s |
| versions | %s |
| measured | %s |
| seed of every run | %d |
| reproduce with | `+"`make gallery`"+` |
`, units.Markdown(strings.Join(facts, ", ")), units.Markdown(r.Ensemble.About), units.Markdown(strings.Join(versions, ", ")), r.Start.UTC().Format("2006-01-02"), seed)
}

func incidents(b *strings.Builder, runs []shown) {
	var results []report.Result
	for _, s := range runs {
		if s.run.Run.Incident != nil {
			results = append(results, s.run)
		}
	}
	if len(results) == 0 {
		return
	}
	b.WriteString("\n## Known faults of released libraries\n\nEach is documented publicly, and was reproduced here with one fault at one step.\n")
	render.MarkdownTable(b, view.IncidentTable(results...))
	b.WriteString("\nSources and the lines of code that cause them: `zkbench list incidents`. To reproduce one: `zkbench run incident/writelock-missed-wakeup`.\n")
}
