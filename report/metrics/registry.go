// Package metrics defines the metrics, and computes them from histories.
//
// A [Family] contains the definitions of its metrics (name, unit, better direction, help). [All] lists
// the definitions, which thresholds, comparisons, tables and help pages use.
//
//	f := metrics.NewFold(h)
//	for n, err := range h.Records { ... f.Record(n) }
//	f.Close()["handoff.latency"].P50
package metrics

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/units"
)

// Direction determines whether lower or higher values are better.
type Direction int

// The values of Direction.
const (
	Neither Direction = iota
	Lower
	Higher
)

// Definition describes a metric. Metrics with the unit "ns" are times, in nanoseconds.
type Definition struct {
	Name         string
	Unit         string // such as "ns", "1/handoff", "1/s"
	Better       Direction
	Distribution bool     // the metric has quantiles; otherwise it has a value
	Fields       []string // its fields, if they differ from the default
	PerPhase     bool     // NAME.PHASE is the metric of one phase
	Help         string   // one line

	// Noun and Head name an important latency in sentences and tables: "one hand-off", "hand-off".
	Noun, Head string

	// Shown are the fields that a comparison of two runs shows: "p50". Main is the field that is
	// compared with the run's base. If Decides is set, Main also decides a comparison of two runs,
	// unless the caller selects other measures.
	Shown   []string
	Main    string
	Decides bool
	// Exact means that the value hardly varies: two runs are compared exactly, except for
	// differences up to the fraction Slack.
	Exact bool
	Slack float64
}

// FieldNames returns the fields that the metric may have.
func (d Definition) FieldNames() []string {
	switch {
	case d.Fields != nil:
		return d.Fields
	case d.Distribution:
		return DistributionFields
	}
	return ValueFields
}

// Family is a group of metrics.
type Family struct {
	About       string // heading of the family in the help
	Definitions []Definition
}

// registered are the collectors of families that a file of their own registers.
var registered []func(*Fold) collector

// register adds a family, after the others, and the collector that computes it. It is called by init.
func register(f Family, collect func(*Fold) collector) {
	families, registered = append(families, f), append(registered, collect)
}

func Families() []Family { return slices.Clone(families) }

// All returns the definitions of all metrics, the most important first.
func All() []Definition {
	var out []Definition
	for _, f := range families {
		out = append(out, f.Definitions...)
	}
	return out
}

// Names returns the names of all metrics, without the names for single phases.
func Names() []string {
	return units.Names(All(), func(d Definition) string { return d.Name })
}

// Find returns the definition of a metric, and the phase in a name such as "failover.latency.crash".
func Find(name string) (d Definition, phase string, ok bool) {
	all := All()
	for _, d := range all {
		if d.Name == name {
			return d, "", true
		}
	}
	for _, d := range all {
		if phase, ok := strings.CutPrefix(name, d.Name+"."); ok && d.PerPhase && phase != "" {
			return d, phase, true
		}
	}
	return Definition{}, "", false
}

// Latencies returns the latencies that tables show, the most important first.
func Latencies() []Definition {
	return slices.DeleteFunc(All(), func(d Definition) bool { return d.Head == "" })
}

// value returns a metric with value v, in the unit of its definition.
func value(name string, v float64) Metric {
	d, _, _ := Find(name)
	return Metric{Unit: d.Unit, Value: &v}
}

func countedMetric(name string, v float64, count int64) Metric {
	m := value(name, v)
	m.Count = &count
	return m
}

func (m Metric) noted(note string) Metric {
	m.Note = note
	return m
}

// Metric is a measured quantity. A distribution has Count and quantiles; a rate or a count has Value.
// A nil pointer means that the field is absent.
type Metric struct {
	Unit     string   `json:"unit"` // such as "ns", "1/handoff", "1/s"
	Phase    string   `json:"phase,omitempty"`
	Count    *int64   `json:"count,omitempty"`
	Min      *float64 `json:"min,omitempty"`
	Mean     *float64 `json:"mean,omitempty"`
	P50      *float64 `json:"p50,omitempty"`
	P90      *float64 `json:"p90,omitempty"`
	P99      *float64 `json:"p99,omitempty"`
	P999     *float64 `json:"p999,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Value    *float64 `json:"value,omitempty"`
	Expected *float64 `json:"expected,omitempty"` // the formula's value, if any
	Servers  *float64 `json:"servers,omitempty"`  // the same quantity, counted by the members
	Missing  int64    `json:"never,omitempty"`    // number of expected samples that never came
	Note     string   `json:"note,omitempty"`     // an explanation of the value
}

// Fields of a distribution, and of other metrics, as in thresholds.
var (
	DistributionFields = []string{"count", "min", "mean", "p50", "p90", "p99", "p999", "max"}
	ValueFields        = []string{"value", "expected", "servers", "count"}
)

func distribution(h *stats.Histogram) Metric {
	return Metric{
		Unit: "ns", Count: new(h.Count()), Min: new(h.Min()), Mean: new(h.Mean()), Max: new(h.Max()),
		P50: new(h.Percentile(50)), P90: new(h.Percentile(90)), P99: new(h.Percentile(99)), P999: new(h.Percentile(99.9)),
	}
}

// Field returns the field with the given name; nil if it was not measured.
func (m Metric) Field(name string) *float64 {
	if name == "count" && m.Count != nil {
		return new(float64(*m.Count))
	}
	return map[string]*float64{
		"min": m.Min, "mean": m.Mean, "p50": m.P50, "p90": m.P90, "p99": m.P99, "p999": m.P999, "max": m.Max,
		"value": m.Value, "expected": m.Expected, "servers": m.Servers,
	}[name]
}

func (m Metric) Samples() int {
	if m.Count == nil {
		return 0
	}
	return int(*m.Count)
}

// Fewest returns the number of samples below which a quantile is just the largest value; 0 for other fields.
func Fewest(field string) int {
	return map[string]int{"p90": 10, "p99": 100, "p999": 1000}[field]
}

// TooFew reports whether the field is a quantile for which there are too few samples.
func (m Metric) TooFew(field string) bool { return m.Samples() < Fewest(field) }
