package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/metrics"
)

// Condition is a parsed threshold: METRIC[.FIELD] OP VALUE.
//
//	handoff.latency.p99 < 50ms          a duration, or a number
//	fanout.notifications == expected    the value of the formula
//	failover.latency.max < promise      a parameter of the scenario
//	handoff.latency.p50 <= 1.05*base    a multiple of the base's, over all trials of both
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

var operators = []string{"<=", ">=", "==", "!=", "<", ">"} // longer operators first

// ParseThreshold parses a condition. The error contains the column (1-based) and the
// allowed values.
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
		return bad(at, "%q is not a comparison operator: use one of %s", expr[at:at+1], strings.Join(operators, " "))
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

func (c Condition) measure() Measure { return Measure{c.Metric, c.Field} }

// Parameter returns the name of the scenario's parameter that is the value, like promise, or "".
func (c Condition) Parameter() string {
	if c.Metric == allVerdicts || c.Value == byFormula || c.TakesBase() {
		return ""
	}
	if _, _, ok := literal(c.Value); ok {
		return ""
	}
	return c.Value
}

// Phase returns the phase of the metric, or "" for a metric of the whole trial.
func (c Condition) Phase() string {
	_, phase, _ := metrics.Find(c.Metric)
	return phase
}

func (c Condition) checkValue() error {
	switch {
	case c.Value == "":
		return fmt.Errorf("a value is missing after %s", c.Op)
	case strings.ContainsAny(c.Value, " \t<>=!"):
		return fmt.Errorf("%q is not a single value: write one threshold for each comparison", c.Value)
	case c.Metric == allVerdicts && c.Op != "==":
		return fmt.Errorf("verdicts can only be compared with ==, not %s", c.Op)
	case c.Metric == allVerdicts && c.Value != Pass:
		return fmt.Errorf("verdicts can only be compared with %s, not %q", Pass, c.Value)
	case c.Metric == allVerdicts:
		return nil
	case strings.HasSuffix(c.Value, againstBase):
		return c.checkFactor()
	}
	d, _, _ := metrics.Find(c.Metric)
	if c.Value == byFormula && d.Distribution {
		return fmt.Errorf("%s has no formula: compare it with a duration or a parameter", c.Metric)
	}
	v, isDuration, ok := literal(c.Value)
	mayBeDuration := d.Unit == "ns" && c.Field != "count"
	switch {
	case ok && mayBeDuration && !isDuration && v != 0:
		return fmt.Errorf("%s is a duration: write a unit, like %sms", strings.TrimSuffix(c.Metric+"."+c.Field, ".value"), c.Value)
	case ok && !mayBeDuration && isDuration:
		return fmt.Errorf("%s is not a duration: write a number without a unit", c.Metric)
	case !ok && !isName(c.Value):
		return fmt.Errorf("%q is not a duration (50ms), a number, %q or the name of a parameter", c.Value, byFormula)
	}
	return nil
}

// literal parses a number, or a duration to nanoseconds.
func literal(s string) (v float64, isDuration, ok bool) {
	if s[0] >= '0' && s[0] <= '9' || s[0] == '.' || s[0] == '-' || s[0] == '+' {
		if v, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(v, 0) {
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
