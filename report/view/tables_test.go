package view

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
)

func TestView_listsTheFormulasOfASubjectOnce(t *testing.T) {
	trial := func(name, subject, provocation, text string) report.Trial {
		return report.Trial{Name: name, Cell: history.Cell{Scenario: "s", Subject: subject, Clients: len(name), Provocation: provocation}, Formulas: map[string]string{"flap": text}}
	}
	b := builder{scenarios: matrix.GroupScenarios([]report.Trial{trial("a", "lock/parent", "", "2N-3"), trial("bb", "lock/parent", "", "2N-3"),
		trial("c", "lock/predecessor", "", "1"), trial("d", "lock/parent", "line", "2N-3")})} // in other cells it is the same subject
	got := b.formulas().Rows
	if want := []string{"lock/parent", "one flap", "2N-3"}; len(got) != 2 || !slices.Equal(got[0].Cells, want) {
		t.Errorf("%v, want two rows, the first %v", got, want)
	}
}
