package view

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
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
	if v := Of(Input{Dir: "run"}); v.Page != report.PageFile {
		t.Errorf("the page is %q", v.Page)
	}
	if v := Of(Input{Dir: "run", Undrawn: true}); !strings.HasSuffix(v.Page, " (to create it: zkbench report run)") {
		t.Errorf("a page that is not there is %q", v.Page)
	}
}
