package view

import (
	"testing"

	"github.com/zkbench/zkbench/report"
)

// What is left out is counted once, however often a table is cut; what passed goes first.
func TestShortest_countsWhatIsLeftOut(t *testing.T) {
	table := Table{Columns: []Column{{Head: "n"}}, OmittedRows: 4}
	for _, result := range []string{report.Pass, report.Fail, report.Unknown, report.Fail, report.Pass} {
		table.Rows = append(table.Rows, Row{Result: result, Cells: []string{result}})
	}
	got := table.LimitRows(3).LimitRows(3).LimitRows(2)
	if want := "and 7 more, in report.html"; got.Note != want || got.Rows[1].Result != report.Fail {
		t.Errorf("%q of %v, want %q", got.Note, got.Rows, want)
	}
	if whole := table.LimitRows(5); whole.Note != "" || whole.Rows[0].Result != report.Pass {
		t.Errorf("a table that fits was changed: %v", whole)
	}
}
