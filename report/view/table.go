package view

import "slices"

// Table is a table of text.
type Table struct {
	Columns []Column
	Rows    []Row
	Note    string // below the table
	Marks   []Mark // explains the marks in a matrix
	Left    int    // number of omitted rows
	Legend  string // explains the short heads, if those are used
}

// Column describes a column of a table.
type Column struct {
	Head  string
	Short string // the head for narrow output; empty: no short head
	Kind  ColumnKind
	// Spare determines which columns narrow output omits: the highest first, and 0 never.
	Spare int
}

// ColumnKind is the kind of a column's content.
type ColumnKind int

// The kinds of column.
const (
	Text    ColumnKind = iota
	Number             // aligned right
	Status             // the row's result as text
	Whole              // text without line breaks
	Code               // text for programs
	Outcome            // an outcome in a matrix: ok, X, ? or -
)

// Row is a row of a table.
type Row struct {
	ID     string   // on the page; empty if no link leads to the row
	Cells  []string // one per column; a newline starts a paragraph
	Links  []string // ids of the page's explanations, one per cell; nil for none
	Result string   // report.Pass, Fail or Unknown, [Skipped], or empty
	Strong bool     // it proves the violation
}

// Skipped is the result of a fault that this machine cannot inject.
const Skipped = "skipped"

// Pick returns the table with the given columns only, in this order.
func (t Table) Pick(columns []int) Table {
	out := Table{Note: t.Note, Left: t.Left, Marks: t.Marks, Legend: t.Legend}
	for _, i := range columns {
		out.Columns = append(out.Columns, t.Columns[i])
	}
	for _, r := range t.Rows {
		cells := make([]string, len(columns))
		for k, i := range columns {
			cells[k] = r.Cells[i]
		}
		r.Cells = cells
		if r.Links != nil {
			links := make([]string, len(columns))
			for k, i := range columns {
				links[k] = r.Links[i]
			}
			r.Links = links
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// filled returns the table without empty columns.
func (t Table) filled() Table {
	var keep []int
	for i := range t.Columns {
		if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i] != "" }) {
			keep = append(keep, i)
		}
	}
	return t.Pick(keep)
}
