package view

import "slices"

// Table is rows of text under heads.
type Table struct {
	Columns []Column
	Rows    []Row
	Note    string // stands below
	Marks   []Mark // what the marks in a matrix stand for
	Left    int    // how many rows are left out
	Legend  string // says what short heads stand for; where those are written, it stands below
}

// Column says how its cells are written.
type Column struct {
	Head  string
	Short string // the head where room is short; empty: there is none
	Kind  ColumnKind
	// Spare says when the column goes where room is short: the highest goes first, and 0
	// never.
	Spare int
}

// ColumnKind is what a column holds.
type ColumnKind int

// The kinds of column.
const (
	Text    ColumnKind = iota
	Number             // stands to the right
	Status             // the row's result, in words
	Whole              // text that is not broken into lines
	Code               // text that a program reads
	Outcome            // an outcome in a matrix: ok, X, ? or -
)

// Row is one row of a table.
type Row struct {
	ID     string   // of the row on the page; empty where nothing leads to it
	Cells  []string // one a column; a newline starts a paragraph
	Links  []string // ids of what the page explains them with, one a cell; nil for none
	Result string   // report.Pass, Fail or Unknown, [Skipped], or empty
	Strong bool     // it proves what the table is about
}

// Skipped is the result of a fault that this machine cannot inject.
const Skipped = "skipped"

// Pick returns the table with these of its columns, in this order.
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

// filled returns the table without the columns in which nothing stands.
func (t Table) filled() Table {
	var keep []int
	for i := range t.Columns {
		if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i] != "" }) {
			keep = append(keep, i)
		}
	}
	return t.Pick(keep)
}
