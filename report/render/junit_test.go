package render

import (
	"encoding/xml"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/view"
)

func TestJUnit_countsEveryCase(t *testing.T) {
	raw := written(t, report.JUnitFile, viewOf(t, "broken"))
	var got junitRun
	if err := xml.Unmarshal(raw, &got); err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	// Two broken; two unknown, one trial unjudged, one unproven fault, the end; one skipped fault; one pass.
	if got.Tests != 9 || got.Failures != 2 || got.Errors != 5 || got.Skipped != 1 {
		t.Errorf("tests %d, failures %d, errors %d, skipped %d; want 9, 2, 5, 1", got.Tests, got.Failures, got.Errors, got.Skipped)
	}
}

// A provocation that a subject was to fail says nothing about another one
// that it was to stand.
func TestJUnit_partsProvocations(t *testing.T) {
	r := load(t, "zoo")
	raw := written(t, report.JUnitFile, view.New(view.Input{Result: r}))
	var got junitRun
	if err := xml.Unmarshal(raw, &got); err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	if len(got.Suites) != len(r.Trials) {
		t.Errorf("%d suites of %d trials", len(got.Suites), len(r.Trials))
	}
	var failed []string
	seen := map[string]bool{}
	for _, s := range got.Suites {
		for _, k := range s.Cases {
			if seen[k.Class+k.Name] {
				t.Errorf("two cases are called %s %s", k.Class, k.Name)
			}
			seen[k.Class+k.Name] = true
			if k.Failure != nil {
				failed = append(failed, s.Name+": "+k.Class+": "+k.Name)
			}
		}
	}
	want := []string{
		"zoo-lock-go-zookeeper-holder-expires: zoo.lock/go-zookeeper_provocation=holder-expires.3: mutual-exclusion, cell holder-expires",
		"zoo-zoo-missed-wakeup-predecessor-leaves: zoo.zoo/missed-wakeup_provocation=predecessor-leaves.3: caught by progress, cell predecessor-leaves",
	}
	if !slices.Equal(failed, want) {
		t.Errorf("failed: %q, want %q", failed, want)
	}
}

// What is not promised, or not judged, is skipped: it is neither green nor red.
func TestJUnit_skipsWhatDoesNotCount(t *testing.T) {
	for result, want := range map[string]bool{report.NotPromised: true, report.NotJudged: true, report.Unknown: false, report.Pass: false} {
		k := junitCaseOf("c", view.Check{What: "fifo", Result: result, Reasons: []string{"because"}})
		if (k.Skipped != nil) != want || (k.Error != nil) != (result == report.Unknown) || want && k.Skipped.Message != result+": because" {
			t.Errorf("%s: %+v", result, k)
		}
	}
}
