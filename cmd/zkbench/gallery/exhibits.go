package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/scenarios/spec"
)

type exhibit struct {
	name string   // of the scenario
	set  []string // its overrides: path=value
}

// small has the overrides, by scenario, that make a run small enough for the gallery.
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

// patient are the scenarios that mostly wait for sessions to expire, so that a few may run in parallel,
// the longest first. They test safety, not speed.
var patient = []string{"audit", "zoo", "partition", "rolling", "succession", "flap"}

func (e exhibit) timed() bool {
	return !strings.HasPrefix(e.name, "incident/") && !slices.Contains(patient, e.name)
}

// exhibits returns all runs of the gallery in order: every built-in scenario and incident, except
// upgrade, which needs two versions of ZooKeeper.
func exhibits() (out []exhibit) {
	for _, name := range append(spec.Builtin(), spec.Incidents()...) {
		if name != "upgrade" {
			out = append(out, exhibit{name, small[name]})
		}
	}
	return out
}

func (e exhibit) folder() string { return strings.ReplaceAll(e.name, "/", "-") }

func (e exhibit) args() []string {
	out := []string{"run", e.name}
	for _, s := range e.set {
		out = append(out, "--set", s)
	}
	return append(out, "--seed", strconv.Itoa(seed))
}

func (e exhibit) command() string {
	words := slices.Concat([]string{"zkbench"}, e.args())
	for i, w := range words {
		if strings.ContainsAny(w, "[ ") {
			words[i] = "'" + w + "'"
		}
	}
	return strings.Join(words, " ")
}

func (e exhibit) load() (*spec.Scenario, error) {
	name, text, err := spec.Source(e.name)
	if err != nil {
		return nil, err
	}
	return spec.Load(name, text, e.set...)
}
