package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Condition is a parsed threshold: METRIC[.FIELD] OP VALUE.
//
//	handoff.latency.p99 < 50ms          a duration, or a number
//	fanout.notifications == expected    the value of the formula
//	failover.latency.max < promise      a parameter of the scenario
//	handoff.latency.p50 <= 1.05*base    a multiple of the base's value, over all trials of both
//	verdicts == pass                    every verdict
//	verdicts.fifo == pass               one verdict
//
// A distribution needs a field: count, min, mean, p50, p90, p99, p999 or max.
// Other metrics have the fields value (the default), expected, servers and count.
type Condition struct {
	Expr   string
	Metric string // "verdicts" for verdicts
	Field  string // of the metric; for verdicts the name of a guarantee, or "" for all
	Op     string // <, <=, >, >=, == or !=
	Value  string // as written
}

const (
	allVerdicts = "verdicts"
	byFormula   = "expected"
)

var operators = []string{"<=", ">=", "==", "!=", "<", ">"} // longer operators first

// ParseThreshold parses a condition. Its errors contain the column, from 1, and the allowed values.
func ParseThreshold(expr string) (Condition, error) {
	bad := func(at int, format string, args ...any) (Condition, error) {
		return Condition{}, fmt.Errorf("threshold %q, column %d: %s", expr, at+1, fmt.Sprintf(format, args...))
	}
	start := len(expr) - len(strings.TrimLeft(expr, " \t"))
	at := strings.IndexAny(expr, "<>=!")
	if at < 0 {
		return bad(len(expr), "a comparison operator is missing: use one of %s", strings.Join(operators, " "))
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

// Parameter returns the scenario's parameter that the metric is compared with, such as promise; "" if none.
func (c Condition) Parameter() string {
	if c.Metric == allVerdicts || c.Value == byFormula || c.ComparesWithBase() {
		return ""
	}
	if _, _, ok := literal(c.Value); ok {
		return ""
	}
	return c.Value
}

// Phase returns the phase of the metric; "" for a metric of the whole trial.
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
	case strings.HasSuffix(c.Value, baseSuffix):
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
	case !ok && !parameterName.MatchString(c.Value):
		return fmt.Errorf("%q is not a duration (50ms), a number, %q or the name of a parameter", c.Value, byFormula)
	}
	return nil
}

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

var parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// baseSuffix is the suffix of a threshold on the base: "handoff.latency.p50 <= 1.05*base".
const baseSuffix = "*base"

func (c Condition) factor() (float64, bool) {
	digits, ok := strings.CutSuffix(c.Value, baseSuffix)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	return f, err == nil && f > 0 && !math.IsInf(f, 0)
}

// ComparesWithBase reports whether the condition compares with the base, which needs several trials.
func (c Condition) ComparesWithBase() bool { return strings.HasSuffix(c.Value, baseSuffix) }

// judgeAgainst evaluates the condition for a comparison with the base. If the limit is within the
// confidence interval, or there is no interval, the result is unknown, and Measured contains the
// number of additional trials that would probably decide it.
func (c Condition) judgeAgainst(x Comparison) Threshold {
	limit, _ := c.factor()
	out := Threshold{Expr: c.Expr, Result: Unknown, Measured: x.String()}
	r := x.Ratio
	if r.Low == nil {
		out.Measured += fmt.Sprintf("; not enough trials for a confidence interval: run %s", moreTrialsText(stats.More(x.Pairs, r, limit)))
		return out
	}
	best, worst := *r.Low, *r.High
	if c.Op[0] == '>' {
		best, worst = worst, best
	}
	switch {
	case satisfies(worst, c.Op, limit):
		out.Result = Pass
	case !satisfies(best, c.Op, limit):
		out.Result = Fail
	default:
		out.Measured += "; the limit is within the confidence interval: run " + moreTrialsText(stats.More(x.Pairs, r, limit))
	}
	return out
}

func (c Condition) checkFactor() error {
	if c.Op == "==" || c.Op == "!=" {
		return fmt.Errorf("two measurements are never exactly equal: compare with the base by <= or >=, not %s", c.Op)
	}
	if _, ok := c.factor(); !ok {
		return fmt.Errorf("%q is not a multiple of the base: write a positive number before *base, like 1.05%s", c.Value, baseSuffix)
	}
	return nil
}

func moreTrialsText(n int) string { return units.Plural(max(n, 1), "more trial") + " of each subject" }

// Judge evaluates the condition for the trial. The result is unknown if the metric was not measured.
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
		if m.Note != "" {
			out.Measured += ": " + m.Note
		}
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
	if satisfies(*v, c.Op, limit) {
		out.Result = Pass
	}
	if m.Missing > 0 && c.Field != "count" && out.Result == Pass {
		out.Result = Unknown
		out.Measured += fmt.Sprintf(", and %d more never completed", m.Missing)
	}
	if c.Value != byFormula && parameterName.MatchString(c.Value) {
		out.Measured += fmt.Sprintf(", %s %s", c.Value, units.Quantity(limit, unit))
	}
	if m.Note != "" && (c.Field == "max" || c.Field == "value") {
		out.Measured += ": " + m.Note
	}
	return out
}

// metric returns the condition's metric in the trial. If the metric of a phase is absent, it is the
// metric of the whole trial, provided that all its samples are from that phase.
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
	return fmt.Sprintf("not measured: only %s, but %s needs at least %d", units.Plural(m.Samples(), "sample"), c.Field, metrics.Fewest(c.Field))
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

// parseParameter parses the value of a parameter for comparison with a metric of the given unit. why
// is the reason if they cannot be compared, else "".
func (c Condition) parseParameter(text, unit string) (limit float64, why string) {
	if text == "" {
		return 0, fmt.Sprintf("the parameter %q is empty", c.Value)
	}
	v, isDuration, ok := literal(text)
	if !ok || (unit == "ns" && c.Field != "count") != isDuration && v != 0 {
		return 0, fmt.Sprintf("the parameter %s=%q cannot be compared with the metric", c.Value, text)
	}
	return v, ""
}

// IncomparableReason returns why text, the value of a parameter, cannot be compared with the metric, or "".
func (c Condition) IncomparableReason(text string) (why string) {
	d, _, _ := metrics.Find(c.Metric)
	_, why = c.parseParameter(text, d.Unit)
	return why
}

// satisfies reports whether v op limit is true. Values that differ only by rounding are equal.
func satisfies(v float64, op string, limit float64) bool {
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
