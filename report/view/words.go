package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// latencies contains the latency metrics, the most important first.
var latencies = metrics.Latencies()

// measuredLatencies returns the latencies that at least one trial has. It omits the acquire latency if
// there are hand-offs, unless acquires were due at a rate.
func measuredLatencies(trials []report.Trial) []metrics.Definition {
	has := func(metric string) bool {
		return slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Metrics[metric].P50 != nil })
	}
	open := slices.ContainsFunc(trials, func(t report.Trial) bool { return metrics.AtRate(t.Metrics) })
	return slices.DeleteFunc(slices.Clone(latencies), func(l metrics.Definition) bool {
		return !has(l.Name) || l.Name == metrics.AcquireLatency && has(metrics.HandoffLatency) && !open
	})
}

// field returns a reader of a metric's field; it returns nil for a quantile of too few samples.
func field(metric, name string) func(report.Trial) *float64 {
	return report.Measure{Metric: metric, Field: name}.Of
}

const (
	stills      = 3 // timelines on a page that have a still chart
	stillGrants = 60
	stillLanes  = 20
)

// stillChart returns the part of a timeline that is shown on paper and without scripts, around the
// first overlap, or else the first fault.
func stillChart(t *report.Trace) explain.Chart {
	all := byStart(t.Holds)
	if len(all) == 0 {
		return explain.Chart{}
	}
	centre := all[0].Start
	if len(t.Faults) > 0 {
		centre = t.Faults[0].Start
	}
	if len(t.Overlaps) > 0 {
		centre = worst(t.Overlaps, 1)[0].Start
	}
	at, _ := slices.BinarySearchFunc(all, centre, func(b report.Hold, c time.Duration) int { return int(b.Start - c) })
	first := max(0, min(at-stillGrants/3, len(all)-stillGrants))
	all = all[first:min(first+stillGrants, len(all))]
	c := explain.Chart{From: all[0].Start, To: all[0].End}
	for _, b := range all {
		c.To = max(c.To, b.End)
	}
	for _, r := range t.Rounds {
		for _, s := range r.Line {
			c.Add(s.Client, s.From, s.To, explain.Waited)
		}
	}
	for _, b := range all {
		c.Add(b.Client, b.Start, b.End, explain.Held)
	}
	c.Lanes = c.Lanes[:min(len(c.Lanes), stillLanes)]
	for _, w := range t.Faults {
		c.Add(-1, w.Start, max(w.Start, w.End), explain.Fault)
	}
	return c
}

// Fact is a named property of the run.
type Fact struct{ Name, Value string }

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
