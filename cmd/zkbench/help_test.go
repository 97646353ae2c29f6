package main

import (
	"strings"
	"testing"

	"zkbench/report"
)

// Whatever a report or a threshold names is explained.
func TestHelp_explainsEveryName(t *testing.T) {
	for page, names := range map[string][]string{"metrics": report.MetricNames(), "violations": report.GuaranteeNames()} {
		text, err := helpTexts.ReadFile("help/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), strings.TrimSuffix(name, report.NaiveSuffix)) {
				t.Errorf("zkbench help %s does not name %s", page, name)
			}
		}
	}
}
