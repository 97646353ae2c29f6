package metrics

import "github.com/zkbench/zkbench/report/internal/stats"

// Metric is a measured quantity. A distribution has Count and quantiles, a rate or a count has
// Value. Pointers distinguish absent from 0.
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
	Never    int64    `json:"never,omitempty"`    // how many more were expected and never came
	Note     string   `json:"note,omitempty"`     // an explanation of the value
}

// Fields of a distribution, and of other metrics, as in thresholds.
var (
	DistributionFields = []string{"count", "min", "mean", "p50", "p90", "p99", "p999", "max"}
	ValueFields        = []string{"value", "expected", "servers", "count"}
)

// distribution returns the metric of a histogram, in nanoseconds.
func distribution(h *stats.Histogram) Metric {
	return Metric{
		Unit: "ns", Count: new(h.Count()), Min: new(h.Min()), Mean: new(h.Mean()), Max: new(h.Max()),
		P50: new(h.Percentile(50)), P90: new(h.Percentile(90)), P99: new(h.Percentile(99)), P999: new(h.Percentile(99.9)),
	}
}

// Field returns the field with that name; nil if it was not measured.
func (m Metric) Field(name string) *float64 {
	if name == "count" && m.Count != nil {
		return new(float64(*m.Count))
	}
	return map[string]*float64{
		"min": m.Min, "mean": m.Mean, "p50": m.P50, "p90": m.P90, "p99": m.P99, "p999": m.P999, "max": m.Max,
		"value": m.Value, "expected": m.Expected, "servers": m.Servers,
	}[name]
}

// Samples returns the number of samples of the metric.
func (m Metric) Samples() int {
	if m.Count == nil {
		return 0
	}
	return int(*m.Count)
}

// Fewest returns how many samples the field needs: with fewer, a quantile is the largest value.
func Fewest(field string) int {
	return map[string]int{"p90": 10, "p99": 100, "p999": 1000}[field]
}

// TooFew reports whether the field is a quantile of too few samples.
func (m Metric) TooFew(field string) bool { return m.Samples() < Fewest(field) }
