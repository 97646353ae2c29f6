package view

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
)

// Section is a part of the page, under a heading. Sections come in the order of their
// importance.
type Section struct {
	ID, Title, Intro string
	Marks            []Mark // what the bars in it stand for
	Blocks           []Block
	Note             string // stands at the end
}

// Block is one thing in a section: whichever of its fields is set.
type Block struct {
	Fold      string // where set, the block is folded under these words
	Open      bool   // unfolded
	Story     *Story
	Table     *Table
	Figures   []*plot.Figure
	Timelines []Timeline
	Facts     []Fact
	Code      string
}

// openStories is how many stories are unfolded when the page is opened.
const openStories = 3

// sections lists the parts of the page that have something in them.
func (b builder) sections(v *View) []Section {
	guarantees, thresholds := b.checkTables()
	all := []Section{
		b.incident(),
		{ID: "stories", Title: "What was broken, and how", Marks: StoryMarks, Blocks: storyBlocks(v.Stories),
			Intro: "Numbers in the lanes are those of the events below; what stands in bold proves it. Time is that of the trial, stretched where much happens. A commit is shown where the first client may know of it."},
		{ID: "measured", Title: "What was measured", Blocks: overviewBlocks(v.Figures, b.noun())},
		b.timelines(),
		{ID: "formulas", Title: "How many notifications are expected", Blocks: blockOf(b.formulas())},
		{ID: "trials", Title: "Trials", Blocks: append(tableBlocks(v.Tables), b.trialBlocks(v.Figures)...)},
		{ID: "guarantees", Title: "Guarantees", Blocks: passedFolded(guarantees)},
		{ID: "thresholds", Title: "Thresholds", Blocks: blockOf(&thresholds)},
		{ID: "faults", Title: "Faults", Blocks: b.faults()},
		{ID: "metrics", Title: "Every metric", Blocks: b.metrics()},
		{ID: "conditions", Title: "How it was measured", Blocks: []Block{{Facts: facts(b.Result)}},
			Note: "All times come from one monotonic clock in the process that drove the clients. An operation is timed from the moment at which it was due. " +
				"Notifications, requests and bytes were counted on the wire, frame by frame. A quantile is only shown where there are samples enough for it. Unknown is never a pass."},
		b.repeat(),
	}
	if b.onlyAudits() {
		return b.auditSections(all)
	}
	return slices.DeleteFunc(b.zooFirst(all), func(s Section) bool { return len(s.Blocks) == 0 })
}

func (b builder) repeat() Section {
	run := b.Result.Run
	s := Section{ID: "repeat", Title: "How to repeat it", Blocks: []Block{{Code: run.Command}},
		Note: "The run folder holds the histories behind all of this. zkbench check judges them again, zkbench report draws them again."}
	if b.Alone {
		s.Note = "The histories behind all of this are not kept here: they are made again by the run."
	}
	if run.Command == "" {
		s.Intro = "The command is unknown."
	}
	return s
}

func storyBlocks(stories []Story) []Block {
	var out []Block
	for i := range stories {
		out = append(out, Block{Fold: stories[i].Title, Open: i < openStories, Story: &stories[i]})
	}
	return out
}

func tableBlocks(tables []Table) []Block {
	var out []Block
	for _, t := range tables {
		out = append(out, blockOf(&t)...)
	}
	return out
}

// passedFolded folds the rows of a table of checks that say nothing to worry about, where
// there are others.
func passedFolded(t Table) []Block {
	at := slices.IndexFunc(t.Rows, func(r Row) bool { return rank(r.Result) <= 0 })
	if at <= 0 {
		return blockOf(&t)
	}
	rest := t
	t.Rows, rest.Rows = t.Rows[:at], t.Rows[at:]
	return []Block{{Table: &t}, {Table: &rest, Fold: fmt.Sprintf("%d more that passed, or were not to be judged", len(rest.Rows))}}
}

func blockOf(t *Table) []Block {
	if t == nil || len(t.Rows) == 0 {
		return nil
	}
	return []Block{{Table: t}}
}

// overviewBlocks has the plots of the whole run, and those of a trial that answer what was
// asked; the percentiles at the largest count of
// clients only, the others folded.
func overviewBlocks(figures []*plot.Figure, noun string) []Block {
	most := 0
	for _, f := range figures {
		if f.Trial == "" {
			most = max(most, f.Clients)
		}
	}
	var first, fewer Block
	fewer.Fold = "The same at fewer " + noun + "s"
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

// trialBlocks has the plots of each trial, by their interest.
func (b builder) trialBlocks(figures []*plot.Figure) []Block {
	var out []Block
	for i, t := range byInterest(b.trials) {
		block := Block{Fold: where(t.Subject, t) + ", over time", Open: i < 2 || t.Outcome() == report.Fail}
		for _, f := range figures {
			if f.Trial == t.Name && !f.Answer {
				block.Figures = append(block.Figures, f)
			}
		}
		out = append(out, block)
	}
	return withFigures(out...)
}

func withFigures(blocks ...Block) []Block {
	return slices.DeleteFunc(blocks, func(b Block) bool { return len(b.Figures) == 0 })
}

// byInterest puts broken trials first, then unknown ones, then the most clients.
func byInterest(trials []report.Trial) []report.Trial {
	out := slices.Clone(trials)
	slices.SortStableFunc(out, func(a, b report.Trial) int {
		if worse := rank(b.Outcome()) - rank(a.Outcome()); worse != 0 {
			return worse
		}
		return b.Clients - a.Clients
	})
	return out
}

// LeftOut says that a renderer had no room for so many plots; nothing of none.
func LeftOut(plots int) string {
	if plots == 0 {
		return ""
	}
	return fmt.Sprintf("%s more in the folder %s beside this page; here they would make it too big.", units.Plural(plots, "plot"), report.PlotDir)
}
