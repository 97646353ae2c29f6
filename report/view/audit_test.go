package view

import (
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

// played is a cell of an audit of lock/mine.
func played(step, fault, result string, steps ...report.Step) report.Trial {
	name := step + "/" + fault
	t := report.Trial{Name: "audit-" + name, Steps: steps, Cell: history.Cell{
		Scenario: "audit", Subject: "lock/mine", Clients: 3, Script: name, Step: step, Fault: fault}}
	t.Verdicts = []report.Verdict{{Guarantee: "fifo", Result: result, Reasons: []string{"because"}, Records: []int{1}}}
	return t
}

func TestAudit_marksEveryCell(t *testing.T) {
	seen := []report.Step{{Step: "all", Faults: []string{"calm", "crowd"}},
		{Step: "next acquire #1", Faults: []string{"flap"}}, {Step: "next create #1", Faults: []string{"drop", "flap", "hold"}}}
	in := Input{Result: report.Result{Run: report.Run{Scenario: "audit", Seed: 7}, Trials: []report.Trial{
		played("all", "calm", report.Pass, seen...), played("next create #1", "drop", report.Fail),
		played("next create #1", "flap", report.Unknown), played("next acquire #1", "flap", report.Pass)}}}
	in.Result.Trials[2].Retries = 1
	in.Explanations = []explain.Explanation{{Trial: in.Result.Trials[1], GuaranteeName: "fifo"}}
	v := New(in)
	equal(t, rowsOf(v.Tables...), []string{
		"lock/mine|2|6|2|1|1|0",
		"next acquire #1|-|ok|-",
		"next create #1|X|?|",
		"calm|ok",
		"crowd|",
		"next create #1/drop|FAIL: fifo|zkbench audit lock/mine --cell 'next create #1/drop' --seed 7",
		"next create #1/flap|unknown: fifo|zkbench audit lock/mine --cell 'next create #1/flap' --seed 7",
	})
	if heads := v.Tables[1].Legend; heads != "a drop, b flap, c hold." {
		t.Errorf("legend %q", heads)
	}
	if link := v.Tables[1].Rows[1].Links[1]; link == "" || link != v.Explanations[0].ID {
		t.Errorf("the failed cell leads to %q, its explanation is %q", link, v.Explanations[0].ID)
	}
	if v.Sections[0].ID != resultsID {
		t.Errorf("the page begins with %s", v.Sections[0].ID)
	}
}

// Pairs of faults have no row: what did not pass is listed, and all are counted.
func TestAudit_countsPairs(t *testing.T) {
	seen := []report.Step{{Step: "all", Faults: []string{"calm"}}, {Step: "next create #1", Faults: []string{"drop", "flap"}}}
	v := New(Input{Result: report.Result{Trials: []report.Trial{played("all", "calm", report.Pass, seen...),
		played("next create #1/drop + third create #1", "flap", report.Fail), played("next create #1/flap + third create #1", "flap", report.Pass)}}})
	if n := len(v.Tables); n != 3 || v.Tables[2].Rows[0].Cells[0] != "next create #1/drop + third create #1/flap" {
		t.Errorf("%d tables: %+v", n, v.Tables)
	}
	equal(t, rowsOf(v.Tables[0]), []string{"lock/mine|1|5|2|1|0|0"})
	if n := len(v.Suites[0].Checks); n != 3 {
		t.Errorf("%d checks", n)
	}
}

// Cells that were named are played without a look at the steps.
func TestAudit_hasTheCellsThatWereNamed(t *testing.T) {
	v := New(Input{Result: report.Result{Trials: []report.Trial{played("next create #1", "flap", report.Pass), played("next create #1", "drop", report.Pass), played("third hold #1", "drop", report.Pass)}}})
	equal(t, rowsOf(v.Tables[1:]...), []string{"next create #1|ok|ok", "third hold #1||ok"})
	if s := v.Suites; len(s) != 1 || len(s[0].Checks) != 3 || s[0].Name != "audit lock/mine" {
		t.Errorf("suites %+v", s)
	}
}

// Only the run's own scenario knows how a driver is started.
func TestAudit_ofADriverIsPlayedAgainByItsScenario(t *testing.T) {
	crowd := played("all", "crowd", report.Fail)
	crowd.Metrics = map[string]report.Metric{metrics.PipeRoundtrip: {}}
	v := New(Input{Result: report.Result{Run: report.Run{Scenario: "audit", Seed: 7, Command: "zkbench run DIR/scenario.yaml --seed 7"}, Trials: []report.Trial{
		played("all", "calm", report.Pass, report.Step{Step: "all", Faults: []string{"calm", "crowd"}}), crowd}}})
	equal(t, rowsOf(v.Tables...), []string{"lock/mine|0|2|1|1|0|0", "calm|ok", "crowd|X",
		`all/crowd|FAIL: fifo|zkbench run DIR/scenario.yaml --seed 7 --subject lock/mine --set 'phases.0.cells=["all/crowd"]'`})
}

// A cell that is not applicable says why, and counts neither as kept nor as unknown.
func TestAudit_namesWhatIsNotApplicable(t *testing.T) {
	cell := played("next create #1", "hold", report.Pass)
	cell.Verdicts = append(cell.Verdicts, report.Verdict{Guarantee: "fault-proof", Result: report.NotJudged, Reasons: []string{"the library hung up"}})
	seen := []report.Step{{Step: "next create #1", Faults: []string{"hold", "drop"}}}
	calm := played("all", "calm", report.Pass, seen...)
	v := New(Input{Result: report.Result{Trials: []report.Trial{calm, cell}}})
	equal(t, rowsOf(v.Tables[1])[:1], []string{"next create #1|-|"})
	last := v.Tables[len(v.Tables)-1]
	if len(last.Rows) != 1 || last.Rows[0].Cells[1] != "not applicable: the library hung up" {
		t.Errorf("listed are %+v", last.Rows)
	}
	equal(t, rowsOf(v.Tables[0]), []string{"lock/mine|1|3|1|0|0|1"})
}
