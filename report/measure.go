package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Measure identifies a number of a trial: a metric and its field.
type Measure struct{ Metric, Field string }

// String returns the notation that thresholds use: "handoff.latency.p50", "throughput".
func (m Measure) String() string {
	if m.Field == "value" {
		return m.Metric
	}
	return m.Metric + "." + m.Field
}

// Of returns the number of a trial, or nil if it was not measured or has too few samples.
func (m Measure) Of(t Trial) *float64 {
	x := t.Metrics[m.Metric]
	if x.TooFew(m.Field) {
		return nil
	}
	return x.Field(m.Field)
}

// HigherIsBetter reports whether a decrease is a regression.
func (m Measure) HigherIsBetter() bool {
	d, _, _ := metrics.Find(m.Metric)
	return d.Better == metrics.Higher || m.Field == "count"
}

// ParseMeasure parses the left side of a threshold: "handoff.latency.p50".
func ParseMeasure(s string) (Measure, error) {
	metric, field, err := splitMetric(s)
	if err == nil && metric == allVerdicts {
		err = fmt.Errorf("%s is not a number", s)
	}
	return Measure{metric, field}, err
}

// splitMetric splits a metric's name, which has dots, from the field after it.
func splitMetric(s string) (metric, field string, err error) {
	if s == allVerdicts {
		return s, "", nil
	}
	if name, ok := strings.CutPrefix(s, allVerdicts+"."); ok {
		if _, known := verdict.Find(name); !known {
			return "", "", fmt.Errorf("no guarantee %q%s", name, units.Nearest(name, verdict.Names()))
		}
		return allVerdicts, name, nil
	}
	whole, phase, ok := metrics.Find(s)
	if ok && phase == "" && !slices.Contains(whole.FieldNames(), "value") {
		return "", "", fmt.Errorf("%s is a distribution: add one of the fields %s, like %s.p99", s, strings.Join(whole.FieldNames(), ", "), s)
	}
	if ok && phase == "" {
		return s, "value", nil
	}
	dot := max(strings.LastIndexByte(s, '.'), 0)
	before, after := s[:dot], strings.TrimPrefix(s[dot:], ".")
	d, inPhase, known := metrics.Find(before)
	switch {
	case known && slices.Contains(d.FieldNames(), after) && (inPhase == "" || d.Distribution):
		return before, after, nil
	case ok && !whole.Distribution:
		return s, "value", nil // of one phase
	case known && inPhase == "":
		return "", "", fmt.Errorf("%s has no field %q%s", before, after, units.Nearest(after, d.FieldNames()))
	case slices.Contains(metrics.DistributionFields, after):
		s = before
	}
	return "", "", fmt.Errorf("no metric %q%s (zkbench list metrics)", s, units.Nearest(s, append(metrics.Names(), allVerdicts)))
}
