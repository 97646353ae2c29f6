package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

const (
	briefRows    = 8 // of a table on a terminal
	fullHeads    = 4 // columns for which a terminal shows full heads
	shownStories = 5 // on a terminal; the page contains more
)

// briefTrials returns the trials of a scenario; of many, those with its largest common number of clients.
func (b builder) briefTrials(s matrix.Scenario) []report.Trial {
	all := ofScenario(b.trials, s.Name)
	if len(all) <= briefRows {
		return all
	}
	n := s.Common()
	return slices.DeleteFunc(all, func(t report.Trial) bool { return t.Clients != n })
}

// briefAudits returns the matrix and the failures of a single subject. For several subjects, it returns
// a summary with a row for each, and the failures of all subjects.
func briefAudits(all []*audit) []Table {
	if len(all) == 1 {
		return []Table{all[0].matrix(), all[0].wholeScriptsTable(), all[0].failed().Shortest(briefRows)}
	}
	failed := Table{Columns: []Column{{Head: "subject", Kind: NoWrap}, {Head: "cell", Kind: NoWrap}, {Head: "result", Kind: Status}}}
	for _, a := range all {
		t := a.failed()
		for _, r := range t.Rows {
			r.Cells = append([]string{units.Clean(a.subject)}, r.Cells[:2]...)
			failed.Rows = append(failed.Rows, r)
		}
		failed.OmittedRows += t.OmittedRows
	}
	return []Table{tally(all), failed.Shortest(briefRows)}
}

// Shortest returns the table with at most the given number of rows. It drops passed rows first, and
// adds a note with the number of omitted rows.
func (t Table) Shortest(rows int) Table {
	if more := len(t.Rows) - rows; more > 0 {
		t.Rows = slices.SortedStableFunc(slices.Values(t.Rows), func(a, b Row) int { return rank(b.Result) - rank(a.Result) })
		t.Rows, t.OmittedRows = t.Rows[:rows], t.OmittedRows+more
		t.Note = fmt.Sprintf("and %d more, in %s", t.OmittedRows, report.PageFile)
	}
	return t
}

// BriefScorecard returns the scorecard of several subjects for a terminal: columns for the
// guarantees that a subject did not keep, and the names of the others in a note. It returns
// nil for a single subject.
func (v *View) BriefScorecard() *Table {
	if v.Scorecard == nil || len(v.Scorecard.Rows) < 2 {
		return nil
	}
	keep, kept := []int{0}, []string{}
	for i, c := range v.Scorecard.Columns[1:] {
		has := func(marks ...string) bool {
			return slices.ContainsFunc(v.Scorecard.Rows, func(r Row) bool { return slices.Contains(marks, r.Cells[i+1]) })
		}
		switch {
		case has(MarkFail, MarkUnknown):
			keep = append(keep, i+1)
		case has(MarkPass):
			kept = append(kept, c.Head)
		}
	}
	t := v.Scorecard.Pick(keep)
	t.Legend = t.legend()
	if len(keep) <= fullHeads {
		t.Legend = ""
		for i := range t.Columns {
			t.Columns[i].Short = ""
		}
	}
	if len(kept) > 0 {
		t.Note = "Kept wherever promised and checked: " + units.List(kept) + "."
	}
	if len(keep) == 1 {
		t.Rows, t.Marks = nil, nil
	} else {
		t.keepFailing()
	}
	return &t
}

func (t Table) legend() string {
	var parts []string
	for _, c := range t.Columns {
		if c.Short != "" {
			parts = append(parts, c.Short+" "+c.Head)
		}
	}
	return strings.Join(parts, ", ") + "."
}

// keepFailing drops the rows of subjects that kept everything, and the marks that no longer occur.
func (t *Table) keepFailing() {
	all := len(t.Rows)
	t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool {
		return !slices.Contains(r.Cells, MarkFail) && !slices.Contains(r.Cells, MarkUnknown)
	})
	if sound := all - len(t.Rows); sound > 0 {
		t.Note = strings.TrimSpace("Not listed: " + units.Plural(sound, "subject") + " that kept every guarantee. " + t.Note)
	}
	t.keepMarks()
}

// keepMarks drops the marks that do not occur in the table.
func (t *Table) keepMarks() {
	t.Marks = slices.DeleteFunc(slices.Clone(t.Marks), func(m Mark) bool {
		return !slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.Contains(r.Cells, m.Kind) })
	})
}

// Story explains a failed verdict: the promise, the events, and the records that prove it.
type Story struct {
	explain.Story
	ID    string // on the page
	Title string
	Here  string // the first reason
	Says  []Fact // the consequence of the violation, and the other reasons
	Again string // the command that runs the trial again; empty if unknown
	More  string // number of omitted events
	Proof string // the command that prints all records
}

// Mark explains one kind of bar, or one mark of a matrix.
type Mark struct{ Kind, Text string }

// StoryMarks explains the bars of a story's lanes.
var StoryMarks = []Mark{{explain.HoldBar, "believes that it holds"}, {explain.WaitBar, "waits for an answer"}, {explain.FaultBar, "a fault is active"}, {"both", "two clients hold at the same time"}}

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
		more = append(more, fmt.Sprintf("To see how each defect was detected, see %s or run zkbench check %s --trial %s", b.page(), b.Dir, onPurpose[0].Trial.Name))
	}
	return append(all, onPurpose...), shown, more
}

// LimitToScreen limits the terminal output to one screen, without stories, which zkbench check prints.
func (v *View) LimitToScreen() {
	v.Screen, v.Shown, v.More = true, 0, nil
	if n := len(v.Stories); n > 0 {
		v.More = []string{fmt.Sprintf("Evidence: see %s, or run zkbench check %s", report.PageFile, v.dir)}
	}
}

func (b builder) story(s explain.Story) Story {
	out := Story{Story: s, ID: storyID(s), Proof: "zstdcat " + report.HistoryPath("", units.Clean(s.Trial.Name)), Again: b.rerunCommand(s.Trial),
		Title: units.Clean(fmt.Sprintf("%s was broken by %s%s", s.Guarantee, trialLabel(s.Label, s.Trial), underFaults(s.ActiveFaults)))}
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
	if s.OmittedEvents > 0 {
		out.More = "and " + units.Plural(s.OmittedEvents, "more event")
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

func (b builder) rerunCommand(t report.Trial) string {
	if t.Step != "" {
		return b.command(t)
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
	t := Table{Columns: []Column{{Head: "", Kind: Number}, {Head: "time", Kind: Number}, {Head: "source", Kind: NoWrap}, {Head: "event"}, {Head: "record", Kind: Number}}, Note: s.More}
	for i, e := range s.Events {
		record := ""
		if e.Record > 0 {
			record = strconv.Itoa(e.Record)
		}
		t.Rows = append(t.Rows, Row{Strong: e.Proof, Cells: []string{strconv.Itoa(i + 1), units.Moment(e.At), e.Who, e.What, record}})
	}
	return t
}
