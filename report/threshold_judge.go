package report

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Judge evaluates the condition for the trial. It is unknown if the metric was not measured.
func (c Condition) Judge(t Trial) Threshold {
	out := Threshold{Expr: c.Expr, Result: Unknown}
	if c.Metric == allVerdicts {
		out.Result, out.Measured = c.judgeVerdicts(t.Verdicts)
		return out
	}
	m := c.metric(t)
	v := m.Field(c.Field)
	switch {
	case v == nil:
		out.Measured = "not measured"
		return out
	case m.TooFew(c.Field):
		out.Measured = c.tooFew(m)
		return out
	}
	unit := m.Unit
	if c.Field == "count" {
		unit = "1"
	}
	out.Measured = units.Quantity(*v, unit)
	if c.Value == byFormula && m.Expected == nil && len(t.Formulas) == 0 {
		out.Result = NotJudged
		out.Measured += " (the subject has no formula)"
		return out
	}
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
	if m.Never > 0 && c.Field != "count" && out.Result == Pass {
		out.Result = Unknown
		out.Measured += fmt.Sprintf(", and %d more never completed", m.Never)
	}
	if c.Value != byFormula && isName(c.Value) {
		out.Measured += fmt.Sprintf(", %s %s", c.Value, units.Quantity(limit, unit))
	}
	if m.Note != "" && (c.Field == "max" || c.Field == "value") {
		out.Measured += ": " + m.Note
	}
	return out
}

// metric returns the metric of the trial. The metric of a phase is the metric of the whole trial
// if all its samples are from that phase.
func (c Condition) metric(t Trial) Metric {
	if m, ok := t.Metrics[c.Metric]; ok {
		return m
	}
	whole, phase := strings.CutSuffix(c.Metric, "."+c.Phase())
	if m := t.Metrics[whole]; phase && c.Phase() != "" && m.Phase == c.Phase() {
		return m
	}
	return Metric{}
}

func (c Condition) tooFew(m metrics.Metric) string {
	return fmt.Sprintf("measured in %s, but %s needs %d", units.Plural(m.Samples(), "sample"), c.Field, metrics.Fewest(c.Field))
}

func (c Condition) judgeVerdicts(vs []Verdict) (result, measured string) {
	names := map[string][]string{} // of guarantees, by result
	var results []string
	for _, v := range vs {
		if c.Field == "" || v.Guarantee == c.Field {
			names[v.Result] = append(names[v.Result], v.Guarantee)
			results = append(results, v.Result)
		}
	}
	if len(results) == 0 || c.Field != "" && results[0] == NotJudged {
		return Unknown, NotJudged
	}
	if result = verdict.Worst(results...); result == Pass {
		if len(names[Pass]) == 0 {
			return Pass, results[0]
		}
		return Pass, Pass
	}
	return result, result + ": " + strings.Join(names[result], ", ")
}

// limit returns the numeric value of the condition's right side, or why it is unknown.
func (c Condition) limit(m Metric, params map[string]string) (limit float64, why string) {
	if c.Value == byFormula {
		if m.Expected == nil {
			return 0, "there is no formula for the expected value"
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
	return c.parseParameter(text, m.Unit)
}

// parseParameter parses the value of a parameter for comparison with a metric of that unit, or returns
// why it cannot be compared.
func (c Condition) parseParameter(text, unit string) (limit float64, why string) {
	if text == "" {
		return 0, fmt.Sprintf("the parameter %q is empty", c.Value)
	}
	v, isDuration, ok := literal(text)
	if !ok || (unit == "ns" && c.Field != "count") != isDuration && v != 0 {
		return 0, fmt.Sprintf("the parameter %s=%q cannot be compared with it", c.Value, text)
	}
	return v, ""
}

// Fits returns why the value of a parameter cannot be compared with the metric; "" if it can.
func (c Condition) Fits(text string) (why string) {
	d, _, _ := metrics.Find(c.Metric)
	_, why = c.parseParameter(text, d.Unit)
	return why
}

// holds compares v with limit. Values are equal if they differ only by rounding.
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
