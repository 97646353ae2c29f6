package view

import (
	"fmt"
	"strconv"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/units"
)

// Story is a failed verdict, explained: what was promised, what happened, and which
// records prove it.
type Story struct {
	explain.Story
	Title      string
	Says       []Fact // the promise, what comes of it when it is broken, and the reasons
	More       string // how many events are left out
	Proof      string // how to read all records
	SecondSays string // what the page of a second opinion says; empty where there is none
}

// Mark is what one kind of bar in a timeline stands for.
type Mark struct{ Kind, Text string }

// StoryMarks are the marks of a story's lanes.
var StoryMarks = []Mark{{explain.Held, "believes that it holds"}, {explain.Waited, "waits for an answer"}, {explain.Fault, "a fault is in force"}}

// shownStories is how many failed verdicts a terminal explains; the page has more.
const shownStories = 5

// stories explains the failed verdicts: first those that nobody expects. What is broken
// on purpose is shown on a terminal only where it was asked for.
func (b builder) stories() (all []Story, shown int, more []string) {
	var onPurpose []Story
	for _, s := range b.Stories {
		if len(s.Trial.Expect) > 0 && !b.OnPurpose {
			onPurpose = append(onPurpose, story(s))
		} else {
			all = append(all, story(s))
		}
	}
	shown = min(len(all), shownStories)
	if len(all) > shown {
		more = append(more, "More is explained in "+report.PageFile+".")
	}
	if len(onPurpose) > 0 {
		more = append(more, fmt.Sprintf("How each was caught is explained in %s; or: zkbench check %s --trial %s", report.PageFile, b.Dir, onPurpose[0].Trial.Name))
	}
	return append(all, onPurpose...), shown, more
}

func story(s explain.Story) Story {
	out := Story{Story: s, Proof: "zstdcat " + report.HistoryPath("", units.Clean(s.Trial.Name)),
		Title: units.Clean(fmt.Sprintf("%s (rule %d) was broken by %s", s.Guarantee, s.Promise.Rule, where(s.Label, s.Trial))),
		Says:  []Fact{{"The promise", s.Promise.Promise}}}
	if s.Promise.Harm != "" {
		out.Says = append(out.Says, Fact{"When it is broken", s.Promise.Harm})
	}
	for _, reason := range s.Reasons {
		out.Says = append(out.Says, Fact{"Here", units.Clean(reason)})
	}
	if s.LeftOut > 0 {
		out.More = "and " + units.Plural(s.LeftOut, "event") + " more"
	}
	if s.Second != "" {
		out.SecondSays = "A second opinion agrees: a search for an order in which one held at a time finds none."
	}
	return out
}

// Table lists the events.
func (s Story) Table() Table {
	t := Table{Columns: []Column{{Head: "at", Kind: Number}, {Head: "who", Kind: Whole}, {Head: "what"}, {Head: "record", Kind: Number}}, Note: s.More}
	for _, e := range s.Events {
		t.Rows = append(t.Rows, Row{Strong: e.Proof, Cells: []string{units.Moment(e.At), e.Who, e.What, strconv.Itoa(e.Record)}})
	}
	return t
}
