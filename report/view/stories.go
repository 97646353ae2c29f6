package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/units"
)

// Story is a failed verdict, explained: what was promised, what happened, and which
// records prove it.
type Story struct {
	explain.Story
	ID         string // of the story on the page
	Title      string
	Here       string // the first reason
	Says       []Fact // what comes of it when it is broken, and the other reasons
	Again      string // the command that plays the trial again; empty where none is known
	More       string // how many events are left out
	Proof      string // how to read all records
	SecondSays string // what the page of a second opinion says; empty where there is none
}

// Mark is what one kind of bar in a timeline stands for.
type Mark struct{ Kind, Text string }

// StoryMarks are the marks of a story's lanes.
var StoryMarks = []Mark{{explain.Held, "believes that it holds"}, {explain.Waited, "waits for an answer"}, {explain.Fault, "a fault is in force"}, {"both", "two hold at once"}}

// shownStories is how many failed verdicts a terminal explains; the page has more.
const shownStories = 5

// stories explains the failed verdicts: first those that nobody expects. What is broken
// on purpose is shown on a terminal only where it was asked for.
func (b builder) stories() (all []Story, shown int, more []string) {
	var onPurpose []Story
	for _, s := range b.Stories {
		if len(s.Trial.Expect) > 0 && !b.OnPurpose {
			onPurpose = append(onPurpose, b.story(s))
		} else {
			all = append(all, b.story(s))
		}
	}
	all = gravestFirst(all, func(s Story) (string, string) { return s.Trial.Subject, s.Guarantee })
	shown = min(len(all), shownStories)
	if len(all) > shown {
		more = append(more, "More is explained in "+b.page()+".")
	}
	if len(onPurpose) > 0 {
		more = append(more, fmt.Sprintf("How each was caught is explained in %s; or: zkbench check %s --trial %s", b.page(), b.Dir, onPurpose[0].Trial.Name))
	}
	return append(all, onPurpose...), shown, more
}

// OneScreen has a terminal show no more than a screen has room for: the stories are left to
// the page, and to zkbench check.
func (v *View) OneScreen() {
	v.Screen, v.Shown, v.More = true, 0, nil
	if n := len(v.Stories); n > 0 {
		v.More = []string{fmt.Sprintf("How it happened: %s, or zkbench check %s", report.PageFile, v.dir)}
	}
}

func (b builder) story(s explain.Story) Story {
	out := Story{Story: s, ID: storyID(s), Proof: "zstdcat " + report.HistoryPath("", units.Clean(s.Trial.Name)), Again: b.again(s.Trial),
		Title: units.Clean(fmt.Sprintf("%s was broken by %s%s", s.Guarantee, where(s.Label, s.Trial), underFaults(s.Under)))}
	for i, reason := range s.Reasons {
		if reason = units.Clean(reason); i == 0 {
			out.Here = reason
		} else {
			out.Says = append(out.Says, Fact{"And", strings.TrimPrefix(reason, "and ")})
		}
	}
	if s.Promise.Harm != "" {
		out.Says = append(out.Says, Fact{"What comes of it", s.Promise.Harm})
	}
	if s.LeftOut > 0 {
		out.More = "and " + units.Plural(s.LeftOut, "event") + " more"
	}
	if s.Second != "" {
		out.SecondSays = "A second opinion agrees: a search for an order in which one held at a time finds none."
	}
	return out
}

// under names the faults of a story: ", under session.close".
func underFaults(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", under " + units.List(names)
}

// storyID is where the page tells a story.
func storyID(s explain.Story) string { return "story-" + anchor(s.Trial.Name+"-"+s.Guarantee) }

// storyOf is the id of the story of a trial's failed verdict, or of the first one where no
// guarantee is named; empty where there is none.
func (b builder) storyOf(trial, guarantee string) string {
	for _, s := range b.Stories {
		if s.Trial.Name == trial && (guarantee == "" || s.Guarantee == guarantee) {
			return storyID(s)
		}
	}
	return ""
}

// again is the command that plays one trial again.
func (b builder) again(t report.Trial) string {
	if t.Step != "" {
		return (&audit{subject: t.Subject, run: b.Result.Run}).command(t)
	}
	s := b.Result.Run.Command
	if s == "" {
		return ""
	}
	others := func(differs func(report.Trial) bool) bool { return slices.ContainsFunc(b.Result.Trials, differs) }
	if others(func(o report.Trial) bool { return o.Subject != t.Subject }) {
		s += " --subject " + units.Clean(t.Subject)
	}
	if t.Provocation == "" && others(func(o report.Trial) bool { return o.Clients != t.Clients }) {
		s += " --clients " + strconv.Itoa(t.Clients)
	}
	return s
}

// Table lists the events.
func (s Story) Table() Table {
	t := Table{Columns: []Column{{Head: "", Kind: Number}, {Head: "at", Kind: Number}, {Head: "who", Kind: Whole}, {Head: "what"}, {Head: "record", Kind: Number}}, Note: s.More}
	for i, e := range s.Events {
		record := ""
		if e.Record > 0 {
			record = strconv.Itoa(e.Record)
		}
		t.Rows = append(t.Rows, Row{Strong: e.Proof, Cells: []string{strconv.Itoa(i + 1), units.Moment(e.At), e.Who, e.What, record}})
	}
	return t
}
