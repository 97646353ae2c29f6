package matrix

import (
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// TestNames: a sentence about one trial calls it as the tables call its series.
func TestNames(t *testing.T) {
	trials := []report.Trial{
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "4s", "hold": "1s"}),
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "4s", "hold": "1s"}),
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "10s", "hold": "1s"}),
		trial("failover", "lock/parent", 5, map[string]string{"session_timeout": "10s"}),
		{Cell: history.Cell{Scenario: "zoo", Subject: "lock/parent", Clients: 3, Provocation: "holder-expires"}},
	}
	names := NamesOf(trials)
	for _, s := range Of(trials) {
		for _, x := range s.Series {
			for _, one := range x.Trials {
				if got := names.Label(one); got != x.Label {
					t.Errorf("%s: %q, want %q as its series", s.Name, got, x.Label)
				}
			}
		}
	}
	if got := names.Label(trials[2]); got != "lock/parent session_timeout=10s" {
		t.Errorf("%q, want the parameter that varies and no other", got)
	}
	c := report.Comparison{Cell: history.Cell{Scenario: "herd", Subject: "lock/predecessor", Clients: 5, Params: map[string]string{"session_timeout": "4s", "hold": "1s"}}}
	if got := names.Label(CellOf(c)); got != "lock/predecessor session_timeout=4s" {
		t.Errorf("%q, want a comparison named like the trials of its cell", got)
	}
}
