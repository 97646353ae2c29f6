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

// Story explains a failed verdict: the promise, the events, and the records that prove it.
type Story struct {
	explain.Story
	ID         string // on the page
	Title      string
	Here       string // the first reason
	Says       []Fact // the consequence of the violation, and the other reasons
	Again      string // the command that runs the trial again; empty if unknown
	More       string // number of omitted events
	Proof      string // the command that prints all records
	SecondSays string // the result of the independent check; empty if it does not exist
}

// Mark explains one kind of bar, or one mark of a matrix.
type Mark struct{ Kind, Text string }

// StoryMarks explains the bars of a story's lanes.
var StoryMarks = []Mark{{explain.Held, "believes that it holds"}, {explain.Waited, "waits for an answer"}, {explain.Fault, "a fault is active"}, {"both", "two hold at the same time"}}

// shownStories is the number of failed verdicts that a terminal explains; the page has more.
const shownStories = 5

// stories explains the failed verdicts, unexpected ones first. shown is the number of stories
// for a terminal; it includes deliberately broken subjects only if OnPurpose is set.
func (b builder) stories() (all []Story, shown int, more []string) {
	var onPurpose []Story
	for _, s := range b.Stories {
		if len(s.Trial.Expect) > 0 && !b.OnPurpose {
			onPurpose = append(onPurpose, b.story(s))
		} else {
			all = append(all, b.story(s))
		}
	}
	all = mostSevereFirst(all, func(s Story) (string, string) { return s.Trial.Subject, s.Guarantee })
	shown = min(len(all), shownStories)
	if len(all) > shown {
		more = append(more, "More violations are explained in "+b.page()+".")
	}
	if len(onPurpose) > 0 {
		more = append(more, fmt.Sprintf("How each defect was detected: see %s, or zkbench check %s --trial %s", b.page(), b.Dir, onPurpose[0].Trial.Name))
	}
	return append(all, onPurpose...), shown, more
}

// OneScreen limits the terminal output to one screen, without stories, which are on the page
// and in the output of zkbench check.
func (v *View) OneScreen() {
	v.Screen, v.Shown, v.More = true, 0, nil
	if n := len(v.Stories); n > 0 {
		v.More = []string{fmt.Sprintf("Evidence: see %s, or zkbench check %s", report.PageFile, v.dir)}
	}
}

func (b builder) story(s explain.Story) Story {
	out := Story{Story: s, ID: storyID(s), Proof: "zstdcat " + report.HistoryPath("", units.Clean(s.Trial.Name)), Again: b.rerunCommand(s.Trial),
		Title: units.Clean(fmt.Sprintf("%s was broken by %s%s", s.Guarantee, trialLabel(s.Label, s.Trial), underFaults(s.Under)))}
	for i, reason := range s.Reasons {
		if reason = units.Clean(reason); i == 0 {
			out.Here = reason
		} else {
			out.Says = append(out.Says, Fact{"Also", strings.TrimPrefix(reason, "and ")})
		}
	}
	if s.Promise.Harm != "" {
		out.Says = append(out.Says, Fact{"Consequence", s.Promise.Harm})
	}
	if s.LeftOut > 0 {
		out.More = "and " + units.Plural(s.LeftOut, "more event")
	}
	if s.Second != "" {
		out.SecondSays = "An independent check agrees: it found no order of the operations in which only one client held at a time."
	}
	return out
}

// underFaults lists the faults of a story: ", under session.close".
func underFaults(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", under " + units.List(names)
}

func storyID(s explain.Story) string { return "story-" + anchor(s.Trial.Name+"-"+s.Guarantee) }

// storyOf returns the id of the story of a trial's failed verdict, or of the trial's first story
// if guarantee is empty. It returns "" if there is no story.
func (b builder) storyOf(trial, guarantee string) string {
	for _, s := range b.Stories {
		if s.Trial.Name == trial && (guarantee == "" || s.Guarantee == guarantee) {
			return storyID(s)
		}
	}
	return ""
}

// rerunCommand returns the command that runs one trial again.
func (b builder) rerunCommand(t report.Trial) string {
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

// Table returns the table of the events.
func (s Story) Table() Table {
	t := Table{Columns: []Column{{Head: "", Kind: Number}, {Head: "time", Kind: Number}, {Head: "source", Kind: Whole}, {Head: "event"}, {Head: "record", Kind: Number}}, Note: s.More}
	for i, e := range s.Events {
		record := ""
		if e.Record > 0 {
			record = strconv.Itoa(e.Record)
		}
		t.Rows = append(t.Rows, Row{Strong: e.Proof, Cells: []string{strconv.Itoa(i + 1), units.Moment(e.At), e.Who, e.What, record}})
	}
	return t
}
