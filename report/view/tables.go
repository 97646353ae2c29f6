package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

type Table struct {
	Columns     []Column
	Rows        []Row
	Note        string // below the table
	Marks       []Mark // explains the marks in a matrix
	OmittedRows int    // number of omitted rows
	Legend      string // explains the short heads, if these are used
}

// Column is the heading of a table column, with the properties that renderers need.
type Column struct {
	Head  string
	Short string // the head for narrow output; empty: no short head
	Kind  ColumnKind
	// DropOrder is the order in which narrow output omits columns: the highest value first, 0 never.
	DropOrder int
}

type ColumnKind int

const (
	Text    ColumnKind = iota
	Number             // aligned right
	Status             // the row's result as text
	NoWrap             // text without line breaks
	Code               // text for programs
	Outcome            // an outcome in a matrix: ok, X, ? or -
)

type Row struct {
	ID     string   // on the page; empty if no link leads to the row
	Cells  []string // one per column; a newline starts a paragraph
	Links  []string // ids of the explanations on the page, one per cell; nil if the row has no links
	Result string   // report.Pass, Fail or Unknown, [Skipped], or empty
	Strong bool     // the row proves the violation
}

// Skipped is the result of a fault that this machine cannot inject.
const Skipped = "skipped"

func (t Table) Pick(columns []int) Table {
	out := t
	out.Columns, out.Rows = pick(t.Columns, columns), nil
	for _, r := range t.Rows {
		r.Cells = pick(r.Cells, columns)
		if r.Links != nil {
			r.Links = pick(r.Links, columns)
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

func pick[T any](all []T, indexes []int) []T {
	out := make([]T, len(indexes))
	for k, i := range indexes {
		out[k] = all[i]
	}
	return out
}

// NumberColumn returns a column of numbers, which a narrow terminal omits in the order dropOrder.
func NumberColumn(head string, dropOrder int) Column {
	return Column{Head: head, Kind: Number, DropOrder: dropOrder}
}

// addMarkColumns adds the columns of a matrix with the given marks. Their short heads are letters.
func (t *Table) addMarkColumns(heads []string, marks []Mark) {
	var legend []string
	for i, head := range heads {
		c := Column{Head: head, Short: string(rune('a' + i)), Kind: Outcome}
		t.Columns, legend = append(t.Columns, c), append(legend, c.Short+" "+head)
	}
	t.Marks, t.Legend = marks, strings.Join(legend, ", ")+"."
}

func withRows(all ...Table) []Table {
	return slices.DeleteFunc(slices.Clone(all), func(t Table) bool { return len(t.Rows) == 0 })
}

func (t Table) withoutEmptyColumns() Table {
	var keep []int
	for i := range t.Columns {
		if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i] != "" }) {
			keep = append(keep, i)
		}
	}
	return t.Pick(keep)
}

// checkTable returns the table of guarantees and thresholds: failed checks first, then unknown ones.
func (b builder) checkTable() Table {
	out := Table{Columns: []Column{{Head: "result", Kind: Status}, {Head: "check", Kind: NoWrap}, {Head: "trial", Kind: NoWrap}, {Head: "reasons"}}}
	for _, t := range b.trials {
		for _, c := range checks(t) {
			reasons := slices.Clone(c.Reasons)
			if len(c.Records) > 0 {
				reasons = append(reasons, "records "+numbers(c.Records)+" of the history")
			}
			out.Rows = append(out.Rows, Row{ID: rowID(t.Subject, t, c), Result: c.Result, Cells: []string{c.Result, c.What, trialLabel(t.Subject, t), strings.Join(reasons, "\n")}})
		}
	}
	if len(out.Rows) == 0 {
		out.Rows = []Row{{Result: report.Unknown, Cells: []string{report.Unknown, "", "", "No guarantee was checked."}}}
	}
	slices.SortStableFunc(out.Rows, func(a, b Row) int { return rank(b.Result) - rank(a.Result) })
	return out
}

func numbers(records []int) string {
	parts := units.Names(records[:min(len(records), numbersLimit)], strconv.Itoa)
	if len(records) > numbersLimit {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

const (
	numbersLimit = 20  // record numbers in one row
	faultLimit   = 200 // rows of one trial
	fewFaults    = 10  // tables up to this size are not collapsed
)

func (b builder) faults() []Block {
	var out []Block
	for _, t := range b.trials {
		n := len(t.Faults)
		if n == 0 {
			continue
		}
		table := Table{Columns: []Column{{Head: "effect", Kind: Status}, {Head: "fault"}, {Head: "target"}, {Head: "start", Kind: Number}, {Head: "duration", Kind: Number}, {Head: "proof"}}}
		for _, f := range t.Faults[:min(n, faultLimit)] {
			table.Rows = append(table.Rows, faultRow(f))
		}
		if n > faultLimit {
			table.Note = "and " + strconv.Itoa(n-faultLimit) + " more, in " + report.ResultFile
		}
		out = append(out, Block{Fold: trialLabel(t.Subject, t) + ": " + units.Plural(n, "fault"), Open: n <= fewFaults, Table: &table})
	}
	return out
}

func faultRow(f report.Fault) Row {
	result, effect, words, duration := report.Pass, "proven", f.Proof, ""
	switch {
	case f.Skipped():
		result, effect, words = Skipped, Skipped, f.Err
	case f.Proof == "":
		result, effect, words = report.Unknown, report.Unknown, cmp.Or(f.Err, noProof)
	case f.Err != "":
		words += " (" + f.Err + ")"
	}
	if f.End >= f.Start {
		duration = units.Duration(float64(f.End - f.Start))
	}
	return Row{Result: result, Cells: []string{effect, f.Fault, f.Target, units.Duration(float64(f.Start)), duration, words}}
}

func (b builder) metrics() []Block {
	var out []Block
	for _, t := range b.trials {
		if len(t.Metrics) == 0 || t.Script != "" { // trials with a script are explained, not measured
			continue
		}
		table := Table{Columns: []Column{{Head: "metric"}}}
		for _, head := range []string{"samples", "value", "formula", "by the servers", "min", "mean", "p50", "p90", "p99", "p99.9", "max"} {
			table.Columns = append(table.Columns, NumberColumn(head, 0))
		}
		for _, name := range sortedKeys(t.Metrics) {
			table.Rows = append(table.Rows, metricRow(t, name))
		}
		out = append(out, Block{Fold: trialLabel(t.Subject, t), Table: &table})
	}
	return out
}

func metricRow(t report.Trial, name string) Row {
	m := t.Metrics[name]
	cells := []string{name, ""}
	if m.Phase != "" {
		cells[0] += " (" + m.Phase + ")"
	}
	if m.Count != nil {
		cells[1] = units.Number(float64(*m.Count))
	}
	for _, f := range []string{"value", "expected", "servers", "min", "mean", "p50", "p90", "p99", "p999", "max"} {
		cells = append(cells, quantity(field(name, f)(t), m.Unit))
	}
	return Row{Cells: cells}
}

// formulas lists the formulas of each subject once, regardless of its cells.
func (b builder) formulas() Table {
	t := Table{Columns: []Column{{Head: "subject"}, {Head: "cause"}, {Head: "notifications, with N clients"}},
		Note: "Flap: one waiter loses its session and rejoins with a new one, while all other clients only wait."}
	for _, s := range b.scenarios {
		for _, trial := range s.Trials() {
			for _, cause := range sortedKeys(trial.Formulas) {
				cells := []string{trial.Subject, "one " + cause, trial.Formulas[cause]}
				if !slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.Equal(r.Cells, cells) }) {
					t.Rows = append(t.Rows, Row{Cells: cells})
				}
			}
		}
	}
	return t
}

// causes returns a table for each trial with failovers: a row for each way to remove the holder.
func (b builder) causes() (out []Block) {
	for _, t := range b.trials {
		trace := b.trace(t.Name)
		if len(trace.Failovers) == 0 {
			continue
		}
		table := Table{Columns: []Column{{Head: "the holder is removed by"}, {Head: "rounds", Kind: Number}, {Head: "next grant after (min to max)", Kind: Number}, {Head: "p50", Kind: Number},
			{Head: "predicted", Kind: Number}, {Head: "no holder for (min to max)", Kind: Number}}}
		for _, rounds := range matrix.Group(trace.Failovers, func(r metrics.Failover) string { return r.Phase }) {
			table.Rows = append(table.Rows, Row{Cells: causeCells(rounds[0].Phase, rounds, trace)})
		}
		block := Block{Table: &table}
		if len(b.trials) > 1 {
			block.Fold, block.Open = trialLabel(t.Subject, t), true
		}
		out = append(out, block)
	}
	return out
}

func causeCells(cause string, rounds []metrics.Failover, trace *report.Trace) []string {
	var latency, nobody []float64
	least, most := rounds[0].Least, time.Duration(0)
	count := strconv.Itoa(len(rounds))
	for _, r := range rounds {
		least, most = min(least, r.Least), max(most, r.Most)
		if !r.Never {
			latency = append(latency, float64(r.Latency))
		}
		if i := slices.IndexFunc(trace.Handoffs, func(h metrics.Handoff) bool { return h.At >= r.At }); i >= 0 && !r.Never && !r.Kept {
			nobody = append(nobody, float64(trace.Handoffs[i].Leaderless))
		}
	}
	if never := len(rounds) - len(latency); never > 0 {
		count += fmt.Sprintf(" (%d without a grant)", never)
	}
	middle := ""
	if m, ok := stats.Middle(latency); ok {
		middle = units.Duration(m)
	}
	return []string{cause, count, rangeText(latency), middle, rangeText([]float64{float64(least), float64(most)}), rangeText(nobody)}
}

func rangeText(ns []float64) string {
	if len(ns) == 0 {
		return ""
	}
	least, most := units.Duration(slices.Min(ns)), units.Duration(slices.Max(ns))
	if least == most {
		return least
	}
	return least + " to " + most
}
