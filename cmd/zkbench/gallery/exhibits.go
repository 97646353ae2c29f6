package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/scenarios"
)

// exhibit is one run of the gallery.
type exhibit struct {
	name string   // of the scenario
	set  []string // what is set in it: path=value
}

// small has what makes a scenario small enough for the gallery; the others are as they are.
var small = map[string][]string{
	"herd":          {"phases.1.duration=8s"},
	"herd-election": {"clients=[25]", "phases.2.duration=5s"},
	"herd-queue":    {"clients=[25]", "phases.2.duration=5s"},
	"queue":         {"clients=[4]"},
	"failover":      {"phases.0.rounds=5", "phases.1.rounds=3", "phases.2.rounds=3", "phases.3.rounds=5", "phases.4.rounds=3", "phases.5.rounds=2", "phases.6.rounds=2"},
	"flap":          {"clients=[5, 25]", "phases.0.rounds=5"},
	"churn":         {"clients=[10]", "subjects=[lock/predecessor]"},
	"partition":     {"subjects=[lock/predecessor]"},
	"rolling":       {"subjects=[lock/predecessor]"},
	"succession":    {"subjects=[election/predecessor]"},
	"audit":         {"subjects=[lock/predecessor, lock/go-zookeeper]"},
	"ci":            {"trials=20", "budget=40s"},
	"paused-holder": {"subjects=[lock/predecessor, election/predecessor, lock/go-zookeeper, lock/curator, lock/kazoo]"},
}

// patient are the scenarios that ask what is safe, not how fast it is, and wait for sessions
// to expire most of the time: a few may run side by side. The longest stand first.
var patient = []string{"audit", "zoo", "partition", "rolling", "succession", "flap"}

// timed says whether the exhibit's numbers take a machine of its own.
func (e exhibit) timed() bool {
	return !strings.HasPrefix(e.name, "incident/") && !slices.Contains(patient, e.name)
}

// exhibits are all runs of the gallery, in the order in which it shows them: every built-in
// scenario and every incident, but for upgrade, which takes two versions of ZooKeeper.
func exhibits() (out []exhibit) {
	for _, name := range append(scenarios.Builtin(), scenarios.Incidents()...) {
		if name != "upgrade" {
			out = append(out, exhibit{name, small[name]})
		}
	}
	return out
}

// folder is the name of the run folder, and of the page.
func (e exhibit) folder() string { return strings.ReplaceAll(e.name, "/", "-") }

// args plays the exhibit.
func (e exhibit) args() []string {
	out := []string{"run", e.name}
	for _, s := range e.set {
		out = append(out, "--set", s)
	}
	return append(out, "--seed", strconv.Itoa(seed))
}

// command plays the exhibit, for whoever reads its page.
func (e exhibit) command() string {
	words := slices.Concat([]string{"zkbench"}, e.args())
	for i, w := range words {
		if strings.ContainsAny(w, "[ ") {
			words[i] = "'" + w + "'"
		}
	}
	return strings.Join(words, " ")
}

// load is the exhibit's scenario.
func (e exhibit) load() (*scenarios.Scenario, error) {
	name, text, err := scenarios.Source(e.name)
	if err != nil {
		return nil, err
	}
	return scenarios.Load(name, text, e.set...)
}
