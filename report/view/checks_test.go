package view

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
)

func TestChecks_sayOnceThatSomethingWasMeasured(t *testing.T) {
	for _, row := range []struct{ measured, want string }{
		{"", "not measured"},
		{"not measured", "not measured"},
		{"measured in 2 samples, and p99 takes 100", "measured in 2 samples, and p99 takes 100"},
		{"1.02 ms", "measured 1.02 ms"},
	} {
		all := checks(report.Trial{Thresholds: []report.Threshold{{Expr: "handoff.latency.p99 < 5ms", Result: report.Unknown, Measured: row.measured}}})
		if got := all[0].Reasons[0]; got != row.want {
			t.Errorf("%q is told as %q, want %q", row.measured, got, row.want)
		}
	}
}

func TestPage_isSaidToBeDrawnWhereItIsNotThereYet(t *testing.T) {
	if v := New(Input{Dir: "run"}); v.Page != report.PageFile {
		t.Errorf("the page is %q", v.Page)
	}
	if v := New(Input{Dir: "run", NoPage: true}); !strings.HasSuffix(v.Page, " (to create it: zkbench report run)") {
		t.Errorf("a page that is not there is %q", v.Page)
	}
}

// provoked is a run of an incident: a specimen that is expected to break a guarantee, or none.
func provoked(expect []string, result string) report.Result {
	t := judged("i", "lock/theirs", 3, "progress", result)
	t.Script, t.Expect = "next exists #1/request.hold", expect
	return report.Result{Run: report.Run{Incident: &report.Incident{About: "It got stuck.", Version: "Theirs 1.0"}}, Trials: []report.Trial{t}}
}

func TestIncidentTable_saysWhetherItShows(t *testing.T) {
	progress := []string{"progress"}
	var got []string
	for _, r := range IncidentTable(provoked(progress, report.Fail), provoked(progress, report.Pass), provoked(nil, report.Pass), provoked(nil, report.Unknown), report.Result{}).Rows {
		got = append(got, r.Cells[5]+": "+r.Cells[6])
	}
	equal(t, got, []string{"progress: reproduced", "progress: NOT as expected: progress did not fail", "nothing: not reproduced", "nothing: unknown"})
	r := provoked(progress, report.Fail)
	r.Run.Versions = map[string]string{"zookeeper": "3.9.6", "zkbench": "0123456789abcdef"}
	r.Run.Incident.Fixed, r.Trials[0].Subject = "2.0", "lock/theirs@1.5"
	row := IncidentTable(r).Rows[0].Cells
	equal(t, append(row[:4:4], row[7]), []string{"It got stuck.", "not known", "2.0", "theirs 1.5, servers 3.9.6", "01234567"})
	r.Trials[0].Subject, r.Run.Versions["lock/theirs"] = "lock/theirs", "1.7"
	if with := IncidentTable(r).Rows[0].Cells[3]; with != "theirs 1.7, servers 3.9.6" {
		t.Errorf("run with %q, want the version that was recorded", with)
	}
}

// The page of a zoo answers first, and then tells how; that of an incident begins with what
// happened.
func TestSections_ofAnIncident(t *testing.T) {
	r := provoked([]string{"progress"}, report.Fail)
	v := New(Input{Result: r, Explanations: []explain.Explanation{{Trial: r.Trials[0], GuaranteeName: "progress"}}})
	var got []string
	for _, s := range v.Sections[:3] {
		got = append(got, s.ID)
	}
	equal(t, got, []string{"incident", resultsID, "explanations"})
}
