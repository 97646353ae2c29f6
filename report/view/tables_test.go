package view

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

func TestView_listsTheFormulasOfASubjectOnce(t *testing.T) {
	trial := func(name, subject, script, text string) report.Trial {
		return report.Trial{Name: name, Cell: history.Cell{Scenario: "s", Subject: subject, Clients: len(name), Script: script}, Formulas: map[string]string{"flap": text}}
	}
	b := builder{scenarios: matrix.GroupScenarios([]report.Trial{trial("a", "lock/parent", "", "2N-3"), trial("bb", "lock/parent", "", "2N-3"),
		trial("c", "lock/predecessor", "", "1"), trial("d", "lock/parent", "line", "2N-3")})} // in other cells it is the same subject
	got := b.formulas().Rows
	if want := []string{"lock/parent", "one flap", "2N-3"}; len(got) != 2 || !slices.Equal(got[0].Cells, want) {
		t.Errorf("%v, want two rows, the first %v", got, want)
	}
}

func TestCauses_hasARowForEachCause(t *testing.T) {
	const s = time.Second
	trace := &report.Trace{
		Failovers: []metrics.Failover{
			{Phase: "release", Round: 1, At: 1 * s, Latency: 2 * time.Millisecond, Most: s},
			{Phase: "crash", Round: 1, At: 10 * s, Latency: 4 * s, Least: 3 * s, Most: 6 * s},
			{Phase: "crash", Round: 2, At: 20 * s, Latency: 5 * s, Least: 2 * s, Most: 7 * s},
			{Phase: "crash", Round: 3, At: 30 * s, Never: true, Least: 3 * s, Most: 6 * s},
		},
		Handoffs: []metrics.Handoff{{At: 1*s + 2*time.Millisecond, Leaderless: time.Millisecond}, {At: 14 * s, Leaderless: s}, {At: 25 * s, Leaderless: 2 * s}},
	}
	b := builder{Input: Input{Traces: map[string]*report.Trace{"a": trace}}, trials: []report.Trial{{Name: "a", Cell: history.Cell{Subject: "lock/a"}}, {Name: "b"}}}
	blocks := b.causes()
	if len(blocks) != 1 {
		t.Fatalf("%d blocks, want one: %+v", len(blocks), blocks)
	}
	equal(t, rowsOf(*blocks[0].Table), []string{
		"release|1|2.00 ms|2.00 ms|0 s to 1.00 s|1.00 ms",
		"crash|3 (1 without a grant)|4.00 s to 5.00 s|4.50 s|2.00 s to 7.00 s|1.00 s to 2.00 s"})
}

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
