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
	briefRows         = 7 // of a table on a terminal
	shownExplanations = 5 // on a terminal; the page contains more
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

// LimitRows returns the table with at most that many rows: it drops passed rows first, and notes the number.
func (t Table) LimitRows(rows int) Table {
	if more := len(t.Rows) - rows; more > 0 {
		t.Rows = slices.SortedStableFunc(slices.Values(t.Rows), func(a, b Row) int { return rank(b.Result) - rank(a.Result) })
		t.Rows, t.OmittedRows = t.Rows[:rows], t.OmittedRows+more
		t.Note = fmt.Sprintf("and %d more, in %s", t.OmittedRows, report.PageFile)
	}
	return t
}

// Explanation explains a failed verdict: the promise, the events, and the records that prove it.
type Explanation struct {
	explain.Explanation
	ID             string // on the page
	Title          string
	Violation      string // the first reason
	Details        []Fact // the consequence of the violation, and the other reasons
	RerunCommand   string // the command that runs the trial again; empty if unknown
	More           string // number of omitted events
	RecordsCommand string // the command that prints all records
}

// Mark explains one kind of bar, or one mark of a matrix.
type Mark struct{ Kind, Text string }

var ExplanationMarks = []Mark{{explain.HoldBar, "believes that it holds"}, {explain.WaitBar, "waits for an answer"}, {explain.FaultBar, "a fault is active"}, {"both", "two clients hold at the same time"}}

// explanations explains the failed verdicts, unexpected ones first. shown is the number of explanations
// for a terminal; it includes deliberately broken subjects only if ExplainExpected is set.
func (b builder) explanations() (all []Explanation, shown int, more []string) {
	var expected []Explanation
	for _, s := range b.Explanations {
		if len(s.Trial.Expect) > 0 && !b.ExplainExpected {
			expected = append(expected, b.explanation(s))
		} else {
			all = append(all, b.explanation(s))
		}
	}
	slices.SortStableFunc(all, func(a, b Explanation) int { return severestFirst(a.GuaranteeName, b.GuaranteeName) })
	shown = min(len(all), shownExplanations)
	if len(all) > shown {
		more = append(more, "More violations are explained in "+b.page()+".")
	}
	if len(expected) > 0 {
		more = append(more, fmt.Sprintf("To see how each defect was detected, see %s or run zkbench check %s --trial %s", b.page(), b.Dir, expected[0].Trial.Name))
	}
	return append(all, expected...), shown, more
}

// HideExplanations omits the explanations from the terminal output, because zkbench check prints them.
func (v *View) HideExplanations() {
	v.Shown, v.More = 0, nil
	if n := len(v.Explanations); n > 0 {
		v.More = []string{fmt.Sprintf("Evidence: see %s, or run zkbench check %s", report.PageFile, v.dir)}
	}
}

func (b builder) explanation(s explain.Explanation) Explanation {
	out := Explanation{Explanation: s, ID: explanationID(s), RecordsCommand: "zstdcat " + report.HistoryPath("", units.Clean(s.Trial.Name)), RerunCommand: b.rerunCommand(s.Trial),
		Title: units.Clean(fmt.Sprintf("%s was broken by %s%s", s.GuaranteeName, trialLabel(s.Label, s.Trial), underFaults(s.ActiveFaults)))}
	for i, reason := range s.Reasons {
		if reason = units.Clean(reason); i == 0 {
			out.Violation = reason
		} else {
			out.Details = append(out.Details, Fact{"Also", strings.TrimPrefix(reason, "and ")})
		}
	}
	if s.Guarantee.Harm != "" {
		out.Details = append(out.Details, Fact{"Consequence", s.Guarantee.Harm})
	}
	if s.OmittedEvents > 0 {
		out.More = "and " + units.Plural(s.OmittedEvents, "more event")
	}
	return out
}

// underFaults lists the faults of an explanation: ", under session.close".
func underFaults(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", under " + units.List(names)
}

func explanationID(s explain.Explanation) string {
	return "explanation-" + units.Identifier(s.Trial.Name+"-"+s.GuaranteeName)
}

// explanationOf returns the id of a failed verdict's explanation, or of the trial's first without a guarantee; "" if none.
func (b builder) explanationOf(trial, guarantee string) string {
	for _, s := range b.Explanations {
		if s.Trial.Name == trial && (guarantee == "" || s.GuaranteeName == guarantee) {
			return explanationID(s)
		}
	}
	return ""
}

// rerunCommand returns the command that runs the cell of a trial again; "" if it is unknown.
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
	if t.Script == "" && others(func(o report.Trial) bool { return o.Clients != t.Clients }) {
		s += " --clients " + strconv.Itoa(t.Clients)
	}
	return s
}

func (s Explanation) Table() Table {
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
