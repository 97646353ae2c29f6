package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Fact is a named property of the run.
type Fact struct{ Name, Value string }

// facts describes how, where and with which versions the trials were run.
func facts(r report.Result) []Fact {
	run := r.Run
	out := []Fact{{"run", run.ID}}
	if !run.Start.IsZero() {
		out = append(out, Fact{"started", run.Start.UTC().Format("2006-01-02 15:04:05 MST")})
	}
	if run.Elapsed > 0 {
		out = append(out, Fact{"took", units.Duration(float64(run.Elapsed))})
	}
	out = append(out, Fact{"ended", cmp.Or(run.Ended, "when all trials were complete")}, Fact{"seed", strconv.FormatUint(run.Seed, 10)})
	e := run.Ensemble
	about := size(e)
	if len(e.Observers) > 0 {
		about += " (" + units.Clean(strings.Join(e.Observers, ", ")) + ")"
	}
	about += ", " + cmp.Or(e.Kind, "kind unknown")
	if e.About != "" {
		about += ", " + e.About
	}
	if e.Tick > 0 {
		about += ", tick " + units.Duration(float64(e.Tick))
	}
	out = append(out, Fact{"ensemble", about})
	for _, k := range keys(run.Host) {
		out = append(out, Fact{"host: " + k, run.Host[k]})
	}
	out = append(out, harness(r.Trials)...)
	return append(out, Fact{"versions", versions(run)})
}

// harness returns the measurements of the harness about itself: the worst values of all trials.
func harness(trials []report.Trial) []Fact {
	worst := map[string]metrics.Metric{}
	for _, t := range trials {
		for name, m := range t.Metrics {
			if w, seen := worst[name]; strings.HasPrefix(name, "self.") && m.Value != nil && (!seen || *m.Value > *w.Value) {
				worst[name] = m
			}
		}
	}
	var out []Fact
	for _, name := range keys(worst) {
		m := worst[name]
		out = append(out, Fact{"harness: " + strings.TrimPrefix(name, "self."), "at worst " + units.Quantity(*m.Value, m.Unit)})
	}
	return out
}

func origin(run report.Run) string { return fmt.Sprintf("Seed %d, %s.", run.Seed, versions(run)) }

// versions lists the versions in use: "zookeeper 3.8.0", and "go1.26" if the version includes
// the name.
func versions(run report.Run) string {
	var parts []string
	for _, k := range keys(run.Versions) {
		v := run.Versions[k]
		if !strings.HasPrefix(v, k) {
			v = k + " " + v
		}
		parts = append(parts, units.Clean(v))
	}
	return cmp.Or(strings.Join(parts, ", "), "versions unknown")
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
