package metrics

import (
	"slices"
	"strings"
	"testing"
)

func TestAll_everyMetricSaysWhatItIs(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range All() {
		if d.Name == "" || d.Unit == "" || d.Help == "" || seen[d.Name] {
			t.Errorf("%+v: a metric needs a name of its own, a unit and a help text", d)
		}
		seen[d.Name] = true
		if d.Distribution && d.Unit != "ns" {
			t.Errorf("%s is a distribution in %s: they are of times", d.Name, d.Unit)
		}
		fields := ValueFields
		if d.Distribution {
			fields = DistributionFields
		}
		for _, f := range append(slices.Clone(d.Shown), d.Main) {
			if f != "" && !slices.Contains(fields, f) {
				t.Errorf("%s has no field %q", d.Name, f)
			}
		}
		if d.Decides && d.Main == "" || (d.Head == "") != (d.Noun == "") {
			t.Errorf("%+v: what decides is its main field, and a head goes with a noun", d)
		}
		if strings.HasSuffix(d.Help, ".") || d.Help[:1] != strings.ToUpper(d.Help[:1]) {
			t.Errorf("%s: %q must begin with a capital letter and have no full stop", d.Name, d.Help)
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ name, metric, phase string }{
		{"throughput", "throughput", ""},
		{"throughput.storm", "throughput", "storm"},
		{"failover.latency.leader-kill", "failover.latency", "leader-kill"},
		{"queue.latency.faults", "queue.latency.faults", ""},
		{"handoff.latency.storm", "", ""},
		{"throughput.", "", ""},
		{"nonsense", "", ""},
	} {
		d, phase, ok := Find(c.name)
		if d.Name != c.metric || phase != c.phase || ok != (c.metric != "") {
			t.Errorf("%s is %q of phase %q (%v), want %q of %q", c.name, d.Name, phase, ok, c.metric, c.phase)
		}
	}
}

// What a fold measures is registered: else no threshold could be about it.
func TestFold_measuresNothingThatIsNotRegistered(t *testing.T) {
	for name, m := range stream().hold("stream", 1, 5, 0, 10, 20).hold("stream", 2, 6, 0, 27, 40).measure() {
		d, _, ok := Find(name)
		if !ok || d.Unit != m.Unit {
			t.Errorf("%s in %s is registered as %+v", name, m.Unit, d)
		}
	}
}
