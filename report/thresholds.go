package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// Condition is a threshold that was parsed: METRIC[.FIELD] OP VALUE.
//
//	handoff.latency.p99 < 50ms          a duration, or a number
//	fanout.notifications == expected    what the formula says
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

var (
	operators     = []string{"<=", ">=", "==", "!=", "<", ">"} // the longer first
	distribFields = []string{"count", "min", "mean", "p50", "p90", "p99", "p999", "max"}
	valueFields   = []string{"value", "expected", "servers", "count"}
	guarantees    = []string{
		verdict.MutualExclusion, verdict.Fencing, verdict.Progress, verdict.FIFO, verdict.ClaimValidity, verdict.FanOut,
		verdict.Succession, verdict.NoOrphan, verdict.BusyLoop, verdict.NoPhantom, verdict.NoDuplicate, verdict.NoLoss, verdict.QueueFIFO,
		verdict.Faults, verdict.Fit,
	}
)

// MetricNames are the names of all metrics, but for those of single phases.
func MetricNames() []string { return slices.Concat(distributions, values, selfs) }

// GuaranteeNames are the names of the verdicts that a threshold can be about.
func GuaranteeNames() []string { return slices.Clone(guarantees) }

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
			return "", "", fmt.Errorf("no guarantee %q%s", name, units.Nearest(name, guarantees))
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
	known := append(MetricNames(), allVerdicts)
	if dot > 0 {
		if m := s[:dot]; slices.Contains(distributions, m) {
			return "", "", fmt.Errorf("%s has no field %q%s", m, s[dot+1:], units.Nearest(s[dot+1:], distribFields))
		} else if slices.Contains(values, m) {
			return "", "", fmt.Errorf("%s has no field %q%s", m, s[dot+1:], units.Nearest(s[dot+1:], valueFields))
		}
		if slices.Contains(distribFields, s[dot+1:]) {
			s = s[:dot]
		}
	}
	return "", "", fmt.Errorf("no metric %q%s", s, units.Nearest(s, known))
}

func knownMetric(s string) (metric, field string, ok bool) {
	if slices.Contains(distributions, s) {
		return s, "", true
	}
	if metric, field, ok := phaseMetric(s); ok {
		return metric, field, true
	}
	if slices.Contains(values, s) || slices.Contains(selfs, s) {
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

// phaseMetric reads failover.latency.PHASE.FIELD, and throughput.PHASE.
func phaseMetric(s string) (metric, field string, ok bool) {
	if phase, ok := strings.CutPrefix(s, Throughput+"."); ok && phase != "" && !slices.Contains(valueFields, phase) {
		return s, "value", true
	}
	dot := strings.LastIndexByte(s, '.')
	if dot < 0 || !strings.HasPrefix(s[:dot], FailoverLatency+".") || !slices.Contains(distribFields, s[dot+1:]) {
		return "", "", false
	}
	return s[:dot], s[dot+1:], true
}

// Parameter is the name of the scenario's parameter that the value stands for, like
// promise; "" where it is none.
func (c Condition) Parameter() string {
	if c.Metric == allVerdicts || c.Value == byFormula || c.TakesBase() {
		return ""
	}
	if _, _, ok := literal(c.Value); ok {
		return ""
	}
	return c.Value
}

// Phase is the phase whose metric is meant, "" where it is that of the whole trial.
func (c Condition) Phase() string {
	for _, metric := range []string{FailoverLatency, Throughput} {
		if phase, ok := strings.CutPrefix(c.Metric, metric+"."); ok {
			return phase
		}
	}
	return ""
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
	case strings.HasSuffix(c.Value, againstBase):
		return c.checkFactor()
	case c.Value == byFormula && c.distribution():
		return fmt.Errorf("no formula gives %s: compare it with a duration or a parameter", c.Metric)
	}
	v, isDuration, ok := literal(c.Value)
	wantDuration := c.distribution() && c.Field != "count"
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

// checkFactor checks a value like 1.05*base.
func (c Condition) checkFactor() error {
	if c.Op == "==" || c.Op == "!=" {
		return fmt.Errorf("no two measurements are equal: compare with the base by <= or >=, not %s", c.Op)
	}
	if _, ok := c.factor(); !ok {
		return fmt.Errorf("%q is no multiple of the base: write a number before it, like 1.05%s", c.Value, againstBase)
	}
	return nil
}

// distribution says whether the metric is one: then its values are durations.
func (c Condition) distribution() bool {
	return slices.Contains(distributions, c.Metric) || strings.HasPrefix(c.Metric, FailoverLatency+".")
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
