package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/verdict"
)

// Merge combines the repetitions of a cell into one trial for display. Each number is the median
// over the trials, never a quantile of all operations, because operations of one trial are not
// independent. Counts are summed; minimum and maximum are over all trials. A guarantee or
// threshold has its worst result. The merged trial has the name of the worst trial, or of the first,
// so that its history and plots can be found. A single trial is returned unchanged.
func Merge(trials []report.Trial) report.Trial {
	if len(trials) == 0 {
		return report.Trial{}
	}
	out := trials[0]
	if len(trials) == 1 {
		return out
	}
	for _, t := range trials {
		if verdict.Severity(t.Outcome()) > verdict.Severity(out.Outcome()) {
			out = t
		}
	}
	out.Repetition, out.Again, out.Merged = 0, 0, len(trials)
	out.Metrics = map[string]report.Metric{}
	for _, t := range trials {
		for name := range t.Metrics {
			if _, done := out.Metrics[name]; !done {
				out.Metrics[name] = mergeMetric(trials, name)
			}
		}
	}
	out.Verdicts, out.Thresholds, out.Faults = mergeVerdicts(trials), mergeThresholds(trials), nil
	for _, t := range trials {
		out.Again += t.Again
		out.Faults = append(out.Faults, t.Faults...)
	}
	return out
}

func mergeMetric(trials []report.Trial, name string) report.Metric {
	var all []report.Metric
	for _, t := range trials {
		if m, ok := t.Metrics[name]; ok {
			all = append(all, m)
		}
	}
	median := func(field string) *float64 {
		if v, ok := Median(trials, func(t report.Trial) *float64 { return t.Metrics[name].Field(field) }); ok {
			return &v
		}
		return nil
	}
	out := report.Metric{
		Unit: all[0].Unit, Phase: all[0].Phase, Mean: median("mean"), P50: median("p50"), P90: median("p90"), P99: median("p99"),
		P999: median("p999"), Value: median("value"), Expected: median("expected"), Servers: median("servers"),
	}
	for _, m := range all {
		if m.Count != nil {
			if out.Count == nil {
				out.Count = new(int64)
			}
			*out.Count += *m.Count
		}
		if m.Min != nil && (out.Min == nil || *m.Min < *out.Min) {
			out.Min = m.Min
		}
		if m.Max != nil && (out.Max == nil || *m.Max > *out.Max) {
			out.Max = m.Max
		}
		for _, q := range []struct {
			field string
			of    **float64
		}{{"p90", &out.P90}, {"p99", &out.P99}, {"p999", &out.P999}} {
			if m.TooFew(q.field) { // one trial has too few samples for the quantile
				*q.of = nil
			}
		}
	}
	return out
}

func mergeVerdicts(trials []report.Trial) []report.Verdict {
	var out []report.Verdict
	for _, t := range trials {
		for _, v := range t.Verdicts {
			v.Reasons = slices.Clone(v.Reasons)
			for i, reason := range v.Reasons {
				v.Reasons[i] = withTrial(t, reason)
			}
			i := slices.IndexFunc(out, func(o report.Verdict) bool { return o.Guarantee == v.Guarantee })
			switch {
			case i < 0:
				out = append(out, v)
			case verdict.Severity(v.Result) > verdict.Severity(out[i].Result):
				v.Reasons = slices.Concat(v.Reasons, out[i].Reasons)
				out[i] = v
			default:
				out[i].Reasons = slices.Concat(out[i].Reasons, v.Reasons)
			}
		}
	}
	return out
}

func mergeThresholds(trials []report.Trial) []report.Threshold {
	var out []report.Threshold
	for _, t := range trials {
		for _, h := range t.Thresholds {
			if !slices.ContainsFunc(out, func(o report.Threshold) bool { return o.Expr == h.Expr }) {
				out = append(out, mergeThreshold(trials, h.Expr))
			}
		}
	}
	return out
}

const measuredLimit = 5

// mergeThreshold returns the worst result, with the measured values of the trials that have it.
func mergeThreshold(trials []report.Trial, expr string) report.Threshold {
	var worst report.Threshold
	var measured []string
	count := 0
	for _, t := range trials {
		for _, h := range t.Thresholds {
			if h.Expr != expr {
				continue
			}
			count++
			if count == 1 || verdict.Severity(h.Result) > verdict.Severity(worst.Result) {
				worst, measured = h, nil
			}
			if h.Result == worst.Result {
				measured = append(measured, cmp.Or(h.Measured, "nothing")+trialSuffix(t))
			}
		}
	}
	switch {
	case count == 1:
	case worst.Result == report.Pass && count == 2:
		worst.Measured += " (passed in the other trial too)"
	case worst.Result == report.Pass:
		worst.Measured += fmt.Sprintf(" (passed in the other %d trials too)", count-1)
	default:
		if more := len(measured) - measuredLimit; more > 0 {
			measured = append(measured[:measuredLimit], fmt.Sprintf("%d more", more))
		}
		worst.Measured = strings.Join(measured, "; ")
	}
	return worst
}

func trialSuffix(t report.Trial) string {
	if n := t.Repetition; n > 0 {
		return fmt.Sprintf(" in trial %d", n)
	}
	return ""
}

func withTrial(t report.Trial, s string) string {
	if n := t.Repetition; n > 0 {
		return fmt.Sprintf("trial %d: %s", n, s)
	}
	return s
}
