package html

import (
	"bytes"
	"strings"
	"testing"

	"zkbench/report"
)

func TestWrite_formulas(t *testing.T) {
	trial := func(name, subject, text string) report.Trial {
		return report.Trial{Name: name, Scenario: "s", Subject: subject, Clients: len(name), Metrics: map[string]report.Metric{}, Formulas: map[string]string{"flap": text}}
	}
	var page bytes.Buffer
	err := Write(&page, Input{Result: report.Result{Trials: []report.Trial{
		trial("a", "lock/parent", "2N-3 <all>"), trial("bb", "lock/parent", "2N-3 <all>"), trial("c", "lock/predecessor", "1"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	row := "<td>lock/parent</td><td>one flap</td><td>2N-3 &lt;all&gt;</td>"
	if n := strings.Count(page.String(), row); n != 1 {
		t.Errorf("the row %q stands there %d times, want once", row, n)
	}
}
