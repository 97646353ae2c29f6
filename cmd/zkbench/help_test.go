package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

// Whatever a report or a threshold names is explained.
func TestHelp_explainsEveryName(t *testing.T) {
	for page, names := range map[string][]string{"metrics": report.MetricNames(), "violations": report.GuaranteeNames()} {
		text, err := helpTexts.ReadFile("help/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), strings.TrimSuffix(name, metrics.NaiveSuffix)) {
				t.Errorf("zkbench help %s does not name %s", page, name)
			}
		}
	}
}

func TestHelp_explainsWhatIsServed(t *testing.T) {
	page, err := helpTexts.ReadFile("help/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan *prometheus.Desc, 100)
	new(live).Describe(served)
	close(served)
	name, n := regexp.MustCompile(`fqName: "(\w+)"`), 0
	for d := range served {
		n++
		if found := name.FindStringSubmatch(d.String()); found == nil || !strings.Contains(string(page), found[1]) {
			t.Errorf("zkbench help metrics does not name %v", d)
		}
	}
	if n == 0 {
		t.Error("nothing is served")
	}
}
