package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agext/levenshtein"

	"zkbench/report/units"
	"zkbench/report/verdict"
)

// Condition is a threshold that was parsed: METRIC[.FIELD] OP VALUE.
//
//	handoff.latency.p99 < 50ms          a duration, or a number
//	fanout.notifications == expected    what the formula says
//	failover.latency.max < promise      a parameter of the scenario
//	verdicts == pass                    every verdict
//	verdicts.fifo == pass               one verdict
//
// A distribution needs a field: count, min, mean, p50, p90, p99, p999 or max.
// Other metrics have value (the default), expected, servers and count.
type Condition struct {
	Expr   string
	Metric string // "verdicts" for verdicts
	Field  string // of the metric; for verdicts the guarantee, or empty for all
	Op     string // <, <=, >, >=, == or !=
	Value  string // as written
}

const (
	allVerdicts = "verdicts"
	byFormula   = "expected"
)

var (
	operators     = []string{"<=", ">=", "==", "!=", "<", ">"} // the longer first
	distribFields = []string{"count", "min", "mean", "p50", "p90", "p99", "p999", "max"}
	valueFields   = []string{"value", "expected", "servers", "count"}
	guarantees    = []string{
		verdict.MutualExclusion, verdict.Fencing, verdict.Progress, verdict.FIFO, verdict.ClaimValidity, verdict.FanOut,
		verdict.Faults, verdict.NoPhantom, verdict.NoDuplicate, verdict.NoLoss,
	}
)

// ParseThreshold parses a condition. The error names the column (1 based) and
// what may stand there.
func ParseThreshold(expr string) (Condition, error) {
	bad := func(at int, format string, args ...any) (Condition, error) {
		return Condition{}, fmt.Errorf("threshold %q, column %d: %s", expr, at+1, fmt.Sprintf(format, args...))
	}
	start := len(expr) - len(strings.TrimLeft(expr, " \t"))
	at := strings.IndexAny(expr, "<>=!")
	if at < 0 {
		return bad(len(expr), "a comparison is missing: one of %s", strings.Join(operators, " "))
	}
	c := Condition{Expr: expr}
	for _, op := range operators {
		if strings.HasPrefix(expr[at:], op) {
			c.Op = op
			break
		}
	}
	if c.Op == "" {
		return bad(at, "%q is no comparison: use one of %s", expr[at:at+1], strings.Join(operators, " "))
	}
	left := strings.TrimSpace(expr[:at])
	if left == "" {
		return bad(start, "a metric is missing before %s, like handoff.latency.p99", c.Op)
	}
	var err error
	if c.Metric, c.Field, err = splitMetric(left); err != nil {
		return bad(start, "%v", err)
	}
	rest := expr[at+len(c.Op):]
	valueAt := at + len(c.Op) + len(rest) - len(strings.TrimLeft(rest, " \t"))
	c.Value = strings.TrimSpace(rest)
	if err := c.checkValue(); err != nil {
		return bad(valueAt, "%v", err)
	}
	return c, nil
}

// splitMetric tells the metric's name, which has dots, from the field after it.
func splitMetric(s string) (metric, field string, err error) {
	if s == allVerdicts {
		return s, "", nil
	}
	if name, ok := strings.CutPrefix(s, allVerdicts+"."); ok {
		if !slices.Contains(guarantees, name) {
			return "", "", fmt.Errorf("no guarantee %q%s", name, nearest(name, guarantees))
		}
		return allVerdicts, name, nil
	}
	if metric, field, ok := knownMetric(s); ok {
		if slices.Contains(distributions, metric) && field == "" {
			return "", "", fmt.Errorf("%s is a distribution: say which of %s, like %s.p99", metric, strings.Join(distribFields, ", "), metric)
		}
		return metric, field, nil
	}
	dot := strings.LastIndexByte(s, '.')
	known := slices.Concat(distributions, values, []string{allVerdicts})
	if dot > 0 {
		if m := s[:dot]; slices.Contains(distributions, m) {
			return "", "", fmt.Errorf("%s has no field %q%s", m, s[dot+1:], nearest(s[dot+1:], distribFields))
		} else if slices.Contains(values, m) {
			return "", "", fmt.Errorf("%s has no field %q%s", m, s[dot+1:], nearest(s[dot+1:], valueFields))
		}
		if slices.Contains(distribFields, s[dot+1:]) {
			s = s[:dot]
		}
	}
	return "", "", fmt.Errorf("no metric %q%s", s, nearest(s, known))
}

func knownMetric(s string) (metric, field string, ok bool) {
	if slices.Contains(distributions, s) {
		return s, "", true
	}
	if slices.Contains(values, s) || strings.HasPrefix(s, selfPrefix) {
		return s, "value", true
	}
	dot := strings.LastIndexByte(s, '.')
	if dot < 0 {
		return "", "", false
	}
	metric, field = s[:dot], s[dot+1:]
	ok = slices.Contains(distributions, metric) && slices.Contains(distribFields, field) ||
		slices.Contains(values, metric) && slices.Contains(valueFields, field)
	return metric, field, ok
}

func (c Condition) checkValue() error {
	switch {
	case c.Value == "":
		return fmt.Errorf("a value is missing after %s", c.Op)
	case strings.ContainsAny(c.Value, " \t<>=!"):
		return fmt.Errorf("%q is not one value: one threshold is one comparison", c.Value)
	case c.Metric == allVerdicts && c.Op != "==":
		return fmt.Errorf("verdicts can only be compared with ==, not %s", c.Op)
	case c.Metric == allVerdicts && c.Value != Pass:
		return fmt.Errorf("verdicts can only be held to %s, not %q", Pass, c.Value)
	case c.Metric == allVerdicts:
		return nil
	case c.Value == byFormula && slices.Contains(distributions, c.Metric):
		return fmt.Errorf("no formula gives %s: compare it with a duration or a parameter", c.Metric)
	}
	v, isDuration, ok := literal(c.Value)
	wantDuration := slices.Contains(distributions, c.Metric) && c.Field != "count"
	switch {
	case ok && wantDuration && !isDuration && v != 0:
		return fmt.Errorf("%s.%s is a duration: write a unit, like %sms", c.Metric, c.Field, c.Value)
	case ok && !wantDuration && isDuration && !strings.HasPrefix(c.Metric, selfPrefix):
		return fmt.Errorf("%s is no duration: write a number without a unit", c.Metric)
	case !ok && !isName(c.Value):
		return fmt.Errorf("%q is neither a duration (50ms), a number, %q nor the name of a parameter", c.Value, byFormula)
	}
	return nil
}

// literal reads a number, or a duration in nanoseconds.
func literal(s string) (v float64, isDuration, ok bool) {
	if s[0] >= '0' && s[0] <= '9' || s[0] == '.' || s[0] == '-' || s[0] == '+' {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return v, false, true
		}
		if d, err := time.ParseDuration(s); err == nil {
			return float64(d), true, true
		}
	}
	return 0, false, false
}

func isName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '.' || r == '-')) {
			return false
		}
	}
	return true
}

func nearest(name string, names []string) string {
	best, distance := "", 1+len(name)/2
	for _, n := range names {
		if d := levenshtein.Distance(name, n, nil); d < distance {
			best, distance = n, d
		}
	}
	if best == "" {
		return "; there is " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// Judge holds the trial to the condition. What was not measured is unknown.
func (c Condition) Judge(t Trial) Threshold {
	out := Threshold{Expr: c.Expr, Result: Unknown}
	if c.Metric == allVerdicts {
		out.Result, out.Measured = c.judgeVerdicts(t.Verdicts)
		return out
	}
	m, ok := t.Metrics[c.Metric]
	v := m.field(c.Field)
	if !ok || v == nil {
		out.Measured = "not measured"
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
