package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// Whatever a report or a threshold names is explained.
func TestHelp_explainsEveryName(t *testing.T) {
	for page, names := range map[string][]string{"metrics": metrics.Names(), "violations": verdict.Names()} {
		text, err := helpTexts.ReadFile("help/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		whole := withRegistered(string(text))
		for _, name := range names {
			if !strings.Contains(whole, "  "+name) {
				t.Errorf("zkbench help %s does not name %s", page, name)
			}
		}
		for line := range strings.Lines(whole) {
			if line == guaranteesMark || line == metricsMark {
				t.Errorf("zkbench help %s: %q", page, line)
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
