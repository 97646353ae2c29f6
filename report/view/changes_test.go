package view

import (
	"html"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// drawn returns the plot of comparisons of these cells, as text.
func drawn(t *testing.T, subjects, timeouts []string, counts []int) string {
	t.Helper()
	var all []report.Comparison
	for _, subject := range subjects {
		for _, timeout := range timeouts {
			for _, n := range counts {
				all = append(all, report.Comparison{Metric: "handoff.latency.p50", Cell: history.Cell{Scenario: "s", Subject: subject, Base: "lock/b", Clients: n,
					Params: map[string]string{"session_timeout": timeout, "hold": "2ms"}}, Ratio: report.Interval{Center: 1.1}})
			}
		}
	}
	if changes("other", all) != nil {
		t.Error("a scenario without comparisons has a plot of them")
	}
	svg, err := changes("s", all).SVG()
	if err != nil {
		t.Fatal(err)
	}
	return html.UnescapeString(string(svg))
}

// TestChanges_sayOfWhichCell: every row says which cell it is of, and what all share stands in the title.
// No label is so long that two cells look alike when it is cut.
func TestChanges_sayOfWhichCell(t *testing.T) {
	long := "lock/predecessor"
	for _, c := range []struct {
		about    string
		subjects []string
		timeouts []string
		counts   []int
		want     []string
	}{
		{"one cell", []string{long}, []string{"4s"}, []int{5}, []string{long + " compared with lock/b, trial by trial, at 5 contenders", ">handoff.latency.p50<"}},
		{"a matrix", []string{long}, []string{"4s", "10s"}, []int{5}, []string{">session_timeout=4s, handoff.latency.p50<", ">session_timeout=10s, handoff.latency.p50<"}},
		{"two counts", []string{long}, []string{"4s"}, []int{5, 50}, []string{">5, handoff.latency.p50<", ">50, handoff.latency.p50<"}},
		{"all of it", []string{long, "lock/a"}, []string{"4s", "10s"}, []int{5, 50}, []string{
			"Compared with lock/b, trial by trial<", ">lock/a session_timeout=4s, 5, handoff.latency.p50<",
			">" + long + " session_timeout=4s, 5, hand", ">" + long + " session_timeout=4s, 50, hand",
			">" + long + " session_timeout=10s, 5, hand", ">" + long + " session_timeout=10s, 50, hand",
		}},
	} {
		svg := drawn(t, c.subjects, c.timeouts, c.counts)
		for _, want := range c.want {
			if !strings.Contains(svg, want) {
				t.Errorf("%s: it does not say %q", c.about, want)
			}
		}
		if strings.Contains(svg, "hold=") {
			t.Errorf("%s: a row names a parameter that does not vary", c.about)
		}
	}
}
