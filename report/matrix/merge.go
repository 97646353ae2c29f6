package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
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
	if len(trials) == 1 {
		return trials[0]
	}
	out := slices.MaxFunc(trials, func(a, b report.Trial) int { return bySeverity(a.Outcome(), b.Outcome()) })
	out.Repetition, out.Retries, out.Merged = 0, 0, len(trials)
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
		out.Retries += t.Retries
		out.Faults = append(out.Faults, t.Faults...)
	}
	return out
}

// bySeverity orders results, the worst last.
func bySeverity(a, b string) int { return cmp.Compare(verdict.Severity(a), verdict.Severity(b)) }

func mergeMetric(trials []report.Trial, name string) report.Metric {
	var all []report.Metric
	for _, t := range trials {
		if m, ok := t.Metrics[name]; ok {
			all = append(all, m)
		}
	}
	middle := func(field string) *float64 {
		var found []float64
		for _, m := range all {
			if m.TooFew(field) {
				return nil
			}
			if v := m.Field(field); v != nil {
				found = append(found, *v)
			}
		}
		if v, ok := stats.Middle(found); ok {
			return &v
		}
		return nil
	}
	out := report.Metric{
		Unit: all[0].Unit, Phase: all[0].Phase, Mean: middle("mean"), P50: middle("p50"), P90: middle("p90"), P99: middle("p99"),
		P999: middle("p999"), Value: middle("value"), Expected: middle("expected"), Servers: middle("servers"),
	}
	for _, m := range all {
		if m.Count != nil {
			out.Count = new(int64(out.Samples()) + *m.Count)
		}
		if m.Min != nil && (out.Min == nil || *m.Min < *out.Min) {
			out.Min = m.Min
		}
		if m.Max != nil && (out.Max == nil || *m.Max > *out.Max) {
			out.Max = m.Max
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

type trialThreshold struct {
	report.Threshold
	trial report.Trial
}

func mergeThresholds(trials []report.Trial) (out []report.Threshold) {
	var all []trialThreshold
	for _, t := range trials {
		for _, h := range t.Thresholds {
			all = append(all, trialThreshold{h, t})
		}
	}
	for _, same := range Group(all, func(h trialThreshold) string { return h.Expr }) {
		out = append(out, mergeThreshold(same))
	}
	return out
}

const measuredLimit = 5

// mergeThreshold returns the worst result, with the measured values of the trials that have it.
func mergeThreshold(all []trialThreshold) report.Threshold {
	order := func(a, b trialThreshold) int { return bySeverity(a.Result, b.Result) }
	worst := slices.MaxFunc(all, order).Threshold
	var measured []string
	for _, h := range all {
		if h.Result == worst.Result {
			measured = append(measured, cmp.Or(h.Measured, "nothing")+trialSuffix(h.trial))
		}
	}
	if more := len(measured) - measuredLimit; more > 0 {
		measured = append(measured[:measuredLimit], fmt.Sprintf("%d more", more))
	}
	if len(all) > 1 {
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
