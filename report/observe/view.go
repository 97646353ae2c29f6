package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// PageFile and ResultFile are the files of an observation.
const (
	PageFile   = "observe.html"
	ResultFile = "observe.json"
)

const (
	linesShown = 200
	holdsShown = 20 // number of longest, and of last, holds of each line on the page
	linesDrawn = 10 // number of lines whose holds the page lists
)

// Result returns report.Fail if a limit was exceeded, else Unknown if something is incomplete, else Pass.
func (o *Observation) Result() string {
	switch {
	case o.Exceeds():
		return report.Fail
	case len(o.IncompleteReasons) > 0 || len(o.Lines) == 0:
		return report.Unknown
	}
	return report.Pass
}

// Sentence returns the result in a sentence.
func (o *Observation) Sentence() string {
	over := 0
	for _, a := range o.Anomalies {
		if a.Limit {
			over++
		}
	}
	switch {
	case over > 0:
		return fmt.Sprintf("Limits were exceeded %s.", units.Plural(over, "time"))
	case len(o.Lines) == 0:
		return fmt.Sprintf("Unknown: no sequential ephemeral node was seen below %s.", o.Path)
	case len(o.IncompleteReasons) > 0:
		return "No limit was exceeded so far, but the observation is incomplete."
	}
	return "Complete, and no limit was exceeded."
}

// View returns the content of the page and of the summary.
func (o *Observation) View() *view.View {
	holds, nodes := int64(0), 0
	for _, l := range o.Lines {
		holds += l.Held.Count
		nodes += l.Nodes
	}
	v := &view.View{
		Name: "observe", Page: PageFile, Result: o.Result(), Verdict: o.Sentence(),
		Description: fmt.Sprintf("Nodes that were first in line at and below %s, from %s to %s (%s): %s, %s, %s.", o.Path, clock(o.From), clock(o.To),
			units.Duration(float64(o.To.Sub(o.From))), units.Plural(len(o.Lines), "parent"), units.Plural(nodes, "node"), units.Plural(int(holds), "completed hold")),
		Run: report.Run{Scenario: "observe", Start: o.From, Elapsed: o.To.Sub(o.From)},
	}
	for _, u := range o.IncompleteReasons {
		v.Findings = append(v.Findings, view.Finding{Kind: view.Doubt, Text: "Incomplete: " + u})
	}
	for _, l := range o.Lines {
		if len(l.Kinds) > 1 {
			v.Findings = append(v.Findings, view.Finding{Kind: view.Doubt, Text: fmt.Sprintf("%s has nodes of several kinds (%s), as read-write locks do: "+
				"the first in line may not be the only holder.", l.Parent, strings.Join(l.Kinds, ", "))})
		}
	}
	if len(o.Anomalies) > 0 {
		v.Tables = append(v.Tables, o.anomalies())
	}
	v.Tables = append(v.Tables, o.lines())
	v.Brief = v.Tables
	for i := range v.Tables {
		v.Sections = append(v.Sections, view.Section{ID: fmt.Sprintf("table-%d", i), Title: v.Tables[i].Columns[0].Head, Blocks: []view.Block{{Table: &v.Tables[i]}}})
	}
	var blocks []view.Block
	for i, l := range o.Lines[:min(len(o.Lines), linesDrawn)] {
		if f := plot.CountOverTime(fmt.Sprintf("contenders-%d", i), "Contenders over time: "+l.Parent, "contenders", l.Step, l.Contenders); f != nil {
			v.Figures = append(v.Figures, f)
		}
		last := l.lastHolds()
		blocks = append(blocks, view.Block{Fold: "holds of " + l.Parent, Open: len(blocks) == 0, Table: &last})
	}
	if len(v.Figures) > 0 {
		v.Sections = append(v.Sections, view.Section{ID: "contenders", Title: "Contenders", Blocks: []view.Block{{Figures: v.Figures}}})
	}
	v.Sections = append(v.Sections, view.Section{ID: "holds", Title: "Holds", Blocks: blocks, Intro: "The list of holds is in " + ResultFile + "."},
		view.Section{ID: "method", Title: "Method", Intro: o.Source, Note: "A hold is the time for which a node had the lowest number among the sequential ephemeral nodes below its parent: by the documented recipes, " +
			"its client holds the lock or is the leader. The client itself may believe this for a shorter or a longer time. The notification counts are upper limits: " +
			"the first applies if all contenders watch the parent's children, the second if each contender watches the node before its own."})
	return v
}

func (o *Observation) anomalies() view.Table {
	t := view.Table{Columns: []view.Column{{Head: "Anomalies"}, {Head: "parent", Kind: view.NoWrap, DropOrder: 1}, {Head: "what happened"}, {Head: "limit", Kind: view.Status, DropOrder: 2}}}
	for _, a := range o.Anomalies {
		r := view.Row{Cells: []string{clock(a.At), a.Parent, a.Text, ""}}
		if a.Limit {
			r.Cells[3], r.Result = "exceeded", report.Fail
		}
		t.Rows = append(t.Rows, r)
	}
	if o.Omitted > 0 {
		t.Note = fmt.Sprintf("%d more are omitted: at most %d of each kind are listed per parent.", o.Omitted, anomaliesKept)
	}
	return t
}

func (o *Observation) lines() view.Table {
	number := view.NumberColumn
	t := view.Table{
		Columns: []view.Column{{Head: "Lines"}, number("nodes", 3), number("holds", 0), number("held p50", 0), number("max", 4), number("waited p50", 0), number("p99", 5), number("max", 1),
			number("vacant", 2), number("expired", 0), number("most at once", 2), number("at the end", 6), number("parent watch", 7), number("predecessor watch", 7)},
	}
	if o.Expired+o.Closed > 0 {
		t.Note = fmt.Sprintf("Sessions in the whole ensemble: %d expired, %d closed.", o.Expired, o.Closed)
	}
	for _, l := range o.Lines[:min(len(o.Lines), linesShown)] {
		expired := itoa(l.Ends[Expired])
		if l.Ends[UnknownCause] > 0 {
			expired = "unknown" // nodes were removed for an unknown cause
		}
		t.Rows = append(t.Rows, view.Row{Cells: []string{l.Parent, itoa(l.Nodes), itoa(int(l.Held.Count)), duration(l.Held, l.Held.P50, 1), duration(l.Held, l.Held.Max, 1),
			duration(l.Waited, l.Waited.P50, 1), duration(l.Waited, l.Waited.P99, 100), duration(l.Waited, l.Waited.Max, 1), duration(l.Vacant, l.Vacant.Max, 1),
			expired, itoa(l.Most), itoa(len(l.Remaining)), itoa(int(l.ParentWatch)), itoa(int(l.PredecessorWatch))}})
	}
	t.OmittedRows = max(0, len(o.Lines)-linesShown)
	return t
}

func (l *ParentStats) lastHolds() view.Table {
	t := view.Table{Columns: []view.Column{{Head: "from"}, {Head: "held", Kind: view.Number}, {Head: "node", Kind: view.NoWrap}, {Head: "session", Kind: view.NoWrap}, {Head: "end"}, {Head: "waiters", Kind: view.Number}}}
	chosen := slices.Clone(l.Holds)
	slices.SortFunc(chosen, func(a, b Hold) int { return cmp.Compare(b.To.Sub(b.From), a.To.Sub(a.From)) })
	chosen = append(chosen[:min(len(chosen), holdsShown)], l.Holds[max(0, len(l.Holds)-holdsShown):]...)
	slices.SortFunc(chosen, func(a, b Hold) int { return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Node, b.Node)) })
	chosen = slices.Compact(chosen)
	for _, h := range chosen {
		t.Rows = append(t.Rows, view.Row{Cells: []string{clock(h.From), units.Duration(float64(h.To.Sub(h.From))), h.Node, h.Session, string(h.End), itoa(h.Waiters)}})
	}
	if n := len(l.Holds) + l.Dropped - len(chosen); n > 0 {
		t.Note = fmt.Sprintf("Only the longest and the last %d are shown; %s omitted.", holdsShown, units.Plural(n, "hold"))
	}
	return t
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }

func itoa(n int) string { return strconv.Itoa(n) }

// duration formats a quantile. It returns "" if there are fewer values than the quantile needs.
func duration(s DurationSummary, d time.Duration, least int64) string {
	if s.Count < least {
		return ""
	}
	return units.Duration(float64(d))
}
