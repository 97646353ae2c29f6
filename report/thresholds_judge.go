package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Judge holds the trial to the condition. What was not measured is unknown.
func (c Condition) Judge(t Trial) Threshold {
	out := Threshold{Expr: c.Expr, Result: Unknown}
	if c.Metric == allVerdicts {
		out.Result, out.Measured = c.judgeVerdicts(t.Verdicts)
		return out
	}
	m := t.Metrics[c.Metric]
	v := m.field(c.Field)
	switch {
	case v == nil:
		out.Measured = "not measured"
		return out
	case m.tooFew(c.Field):
		out.Measured = fmt.Sprintf("measured in %s, and %s takes %d", units.Plural(m.samples(), "sample"), c.Field, fewest[c.Field])
		return out
	}
	unit := m.Unit
	if c.Field == "count" {
		unit = "1"
	}
	out.Measured = units.Quantity(*v, unit)
	limit, why := c.limit(m, t.Params)
	if why != "" {
		out.Measured += " (" + why + ")"
		return out
	}
	if c.Value == byFormula {
		out.Measured += ", expected " + units.Quantity(limit, unit)
	}
	out.Result = Fail
	if holds(*v, c.Op, limit) {
		out.Result = Pass
	}
	if c.Value != byFormula && isName(c.Value) {
		out.Measured += fmt.Sprintf(", %s %s", c.Value, units.Quantity(limit, unit))
	}
	if m.Note != "" && (c.Field == "max" || c.Field == "value") {
		out.Measured += ": " + m.Note
	}
	return out
}

func (c Condition) judgeVerdicts(vs []Verdict) (result, measured string) {
	judged := vs
	if c.Field != "" {
		judged = slices.DeleteFunc(slices.Clone(vs), func(v Verdict) bool { return v.Guarantee != c.Field })
	}
	if len(judged) == 0 {
		return Unknown, "not judged"
	}
	result = verdict.Worst(judged)
	var names []string
	for _, v := range judged {
		if v.Result == result && result != Pass {
			names = append(names, v.Guarantee)
		}
	}
	return result, strings.TrimSuffix(result+": "+strings.Join(names, ", "), ": ")
}

// limit returns what the value stands for, or why nobody knows.
func (c Condition) limit(m Metric, params map[string]string) (limit float64, why string) {
	if c.Value == byFormula {
		if m.Expected == nil {
			return 0, "no formula gives the expected value"
		}
		return *m.Expected, ""
	}
	if v, _, ok := literal(c.Value); ok {
		return v, ""
	}
	text, ok := params[c.Value]
	if !ok {
		return 0, fmt.Sprintf("the scenario has no parameter %q", c.Value)
	}
	if text == "" {
		return 0, fmt.Sprintf("the parameter %q is empty", c.Value)
	}
	v, isDuration, ok := literal(text)
	if !ok || (m.Unit == "ns" && c.Field != "count") != isDuration && v != 0 {
		return 0, fmt.Sprintf("the parameter %s=%q does not compare with it", c.Value, text)
	}
	return v, ""
}

// holds compares; equal means equal but for rounding.
func holds(v float64, op string, limit float64) bool {
	diff := max(v, limit) - min(v, limit)
	equal := v == limit || diff <= 1e-9*max(v, -v, limit, -limit)
	switch op {
	case "<":
		return v < limit && !equal
	case "<=":
		return v < limit || equal
	case ">":
		return v > limit && !equal
	case ">=":
		return v > limit || equal
	case "!=":
		return !equal
	}
	return equal
}

// fewest is how many samples a quantile takes: of fewer it is only another name for
// the largest.
var fewest = map[string]int{"p90": 10, "p99": 100, "p999": 1000}

// tooFew says that the field is a quantile of too few samples.
func (m Metric) tooFew(field string) bool { return m.samples() < fewest[field] }

func (m Metric) samples() int {
	if m.Count == nil {
		return 0
	}
	return int(*m.Count)
}

func (m Metric) field(name string) *float64 {
	switch name {
	case "count":
		if m.Count == nil {
			return nil
		}
		return new(float64(*m.Count))
	case "min":
		return m.Min
	case "mean":
		return m.Mean
	case "p50":
		return m.P50
	case "p90":
		return m.P90
	case "p99":
		return m.P99
	case "p999":
		return m.P999
	case "max":
		return m.Max
	case "value":
		return m.Value
	case "expected":
		return m.Expected
	case "servers":
		return m.Servers
	}
	return nil
}
