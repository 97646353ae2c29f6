package html

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
)

func TestWrite_formulas(t *testing.T) {
	trial := func(name, subject, text string) report.Trial {
		return report.Trial{Name: name, Scenario: "s", Subject: subject, Clients: len(name), Metrics: map[string]report.Metric{}, Formulas: map[string]string{"flap": text}}
	}
	provoked := trial("d", "lock/parent", "2N-3 <all>") // in other cells it is the same subject
	provoked.Provocation = "line"
	var page bytes.Buffer
	err := Write(&page, Input{Result: report.Result{Trials: []report.Trial{
		trial("a", "lock/parent", "2N-3 <all>"), trial("bb", "lock/parent", "2N-3 <all>"), trial("c", "lock/predecessor", "1"), provoked,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	row := "<td>lock/parent</td><td>one flap</td><td>2N-3 &lt;all&gt;</td>"
	if n := strings.Count(page.String(), "2N-3"); n != 1 || !strings.Contains(page.String(), row) {
		t.Errorf("the formula stands there %d times, want once, in the row %q", n, row)
	}
}
