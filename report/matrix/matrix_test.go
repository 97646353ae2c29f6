package matrix

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

func trial(scenario, subject string, clients int, params map[string]string) report.Trial {
	return report.Trial{Cell: history.Cell{Scenario: scenario, Subject: subject, Clients: clients, Params: params}}
}

func TestOf(t *testing.T) {
	got := GroupScenarios([]report.Trial{
		trial("herd", "lock/predecessor", 50, nil), trial("herd", "lock/parent", 50, nil),
		trial("failover", "lock/parent", 5, map[string]string{"session_timeout": "4s", "hold": "1s"}),
		trial("failover", "lock/parent", 5, map[string]string{"session_timeout": "8s", "hold": "1s"}),
		trial("herd", "lock/parent", 10, nil), trial("herd", "lock/predecessor", 100, nil),
	})
	if len(got) != 2 || got[0].Name != "herd" || got[1].Name != "failover" {
		t.Fatalf("scenarios = %+v, want herd and failover in the order they were run", got)
	}
	if got[0].Series[0].Label != "lock/parent" || !slices.Equal(got[0].Counts, []int{10, 50, 100}) {
		t.Errorf("herd = %+v, want series by label and counts ascending", got[0])
	}
	if got[0].Series[0].Trials[0].Clients != 10 {
		t.Errorf("trials of a series are not ordered by clients")
	}
	if l := got[1].Series[0].Label; l != "lock/parent session_timeout=4s" {
		t.Errorf("label = %q, want only the parameter that varies in it", l)
	}
	if n := got[0].Common(); n != 50 {
		t.Errorf("Common = %d, want 50: the largest count that both have", n)
	}
	if n := (Scenario{}).Common(); n != 0 {
		t.Errorf("Common of nothing = %d, want 0", n)
	}
	got = GroupScenarios([]report.Trial{
		trial("herd", "lock/parent", 10, map[string]string{"repeat": "1"}), trial("herd", "lock/parent", 10, map[string]string{"repeat": "2"}),
	})
	if len(got[0].Series) != 1 || len(got[0].Series[0].At(10)) != 2 {
		t.Errorf("series of repetitions = %+v, want one with two trials", got[0].Series)
	}
}

// What a trial ran on is named where it is the only one, too: an upgrade.
func TestOf_namesTheVersion(t *testing.T) {
	one := []report.Trial{{Cell: history.Cell{Scenario: "upgrade", Subject: "lock/parent", Params: map[string]string{"version": "3.8.0 to 3.9.3", "hold": "5ms"}}}}
	if l := GroupScenarios(one)[0].Series[0].Label; l != "lock/parent version=3.8.0 to 3.9.3" {
		t.Errorf("label = %q", l)
	}
}

// TestOf_scripts: the trials of a zoo differ in what was done to the subject, and
// in nothing else. One of them must not stand for another.
func TestOf_scripts(t *testing.T) {
	caught := report.Trial{Name: "a", Cell: history.Cell{Scenario: "zoo", Subject: "lock/x", Clients: 3, Script: "waiter-expires"}, Expect: []string{"progress"}}
	sound := report.Trial{Name: "b", Cell: history.Cell{Scenario: "zoo", Subject: "lock/x", Clients: 3, Script: "holder-expires"}}
	got := GroupScenarios([]report.Trial{caught, sound})[0]
	if len(got.Series) != 2 {
		t.Fatalf("%d series, want one for each script", len(got.Series))
	}
	if l := got.Series[0].Label; l != "lock/x script=holder-expires" {
		t.Errorf("label = %q, want the script in it", l)
	}
	for _, x := range got.Merged().Series {
		if len(x.Trials) != 1 || x.Trials[0].Merged != 0 {
			t.Errorf("%s: %+v, want the trial as it is", x.Label, x.Trials)
		}
	}
}

// TestNames: a sentence about one trial calls it as the tables call its series.
func TestNames(t *testing.T) {
	trials := []report.Trial{
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "4s", "hold": "1s"}),
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "4s", "hold": "1s"}),
		trial("herd", "lock/parent", 5, map[string]string{"session_timeout": "10s", "hold": "1s"}),
		trial("failover", "lock/parent", 5, map[string]string{"session_timeout": "10s"}),
		{Cell: history.Cell{Scenario: "zoo", Subject: "lock/parent", Clients: 3, Script: "holder-expires"}},
	}
	names := NamesOf(trials)
	for _, s := range GroupScenarios(trials) {
		for _, x := range s.Series {
			for _, one := range x.Trials {
				if got := names.Label(one.Cell); got != x.Label {
					t.Errorf("%s: %q, want %q as its series", s.Name, got, x.Label)
				}
			}
		}
	}
	if got := names.Label(trials[2].Cell); got != "lock/parent session_timeout=10s" {
		t.Errorf("%q, want the parameter that varies and no other", got)
	}
	c := report.Comparison{Cell: history.Cell{Scenario: "herd", Subject: "lock/predecessor", Clients: 5, Params: map[string]string{"session_timeout": "4s", "hold": "1s"}}}
	if got := names.Label(c.Cell); got != "lock/predecessor session_timeout=4s" {
		t.Errorf("%q, want a comparison named like the trials of its cell", got)
	}
}
