package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// measures returns the findings from the measured numbers, by scenario. The numbers themselves
// are in headlines and tables.
func (b builder) measures() []Finding {
	out := b.comparisonFindings()
	for _, s := range b.scenarios {
		switch {
		case isAudit(s):
			if all := b.audits(s); len(all) == 1 { // a table summarizes several
				out = append(out, measuredFindings("", all[0].summary())...)
			}
		case isZoo(s):
			out = append(out, measuredFindings("", zooSummary(s)...)...)
		default:
			out = append(out, b.measuresOf(s)...)
		}
	}
	return out
}

// measuredFindings returns a finding for each line that is not empty.
func measuredFindings(subject string, lines ...string) (out []Finding) {
	for _, s := range lines {
		if s != "" {
			out = append(out, Finding{Kind: Measures, Subject: subject, Text: s})
		}
	}
	return out
}

// comparisonFindings returns findings from the comparisons with the base, differences first.
func (b builder) comparisonFindings() []Finding {
	var different, equal []Finding
	for _, c := range b.Result.Comparisons {
		label, at := b.names.Label(c.Cell), units.Plural(c.Clients, "contender")
		if c.Ratio.Low != nil && *c.Ratio.Low <= 1 && *c.Ratio.High >= 1 {
			equal = append(equal, measuredFindings(label, fmt.Sprintf("At %s, trial by trial, no difference was found in %s of %s: %s.", at, c.Metric, label, c))...)
		} else {
			different = append(different, measuredFindings(label, fmt.Sprintf("At %s, trial by trial, %s of %s is %s.", at, c.Metric, label, c))...)
		}
	}
	return append(different, equal...)
}

// measuresOf returns the findings of a scenario that is neither an audit nor a zoo.
func (b builder) measuresOf(s matrix.Scenario) (out []Finding) {
	for _, x := range s.Series {
		lines := append(append(promiseTexts(x), troubles(x)...), overlapText(x))
		lines = append(append(lines, pausedHolders(x)...), capacities(x)...)
		out = append(out, measuredFindings(x.Label, lines...)...)
	}
	// Comparisons of adjacent trials are more precise than comparisons of the medians. In a run
	// that ended early, subjects may have different numbers of trials.
	turns := slices.ContainsFunc(b.Result.Comparisons, func(c report.Comparison) bool { return c.Scenario == s.Name })
	if !turns && b.Result.Run.Ended == "" {
		out = append(out, measuredFindings("", extremes(s, s.Common()))...)
	}
	return append(out, measuredFindings("", unequalConditions(s))...)
}

// ranked is a series, the p50 of each of its trials, and their median.
type ranked struct {
	matrix.Series
	p50s []float64
	p50  float64
}

// extremes compares the subjects with the lowest and the highest latency, by the first latency
// that at least two subjects have. It omits subjects that broke a guarantee. The sentence contains
// the confidence interval of the ratio, or states that there are too few trials.
func extremes(s matrix.Scenario, clients int) string {
	for _, m := range latencies {
		var have []ranked
		for _, x := range s.Series {
			if v, ok := median(x, clients, m.Name, "p50"); ok && v > 0 && !hasFailure(x) {
				r := ranked{Series: x, p50: v}
				for _, t := range x.At(clients) {
					if p50 := t.Metrics[m.Name].P50; p50 != nil {
						r.p50s = append(r.p50s, *p50)
					}
				}
				have = append(have, r)
			}
		}
		if len(have) < 2 {
			continue
		}
		slices.SortStableFunc(have, func(a, b ranked) int { return cmp.Compare(a.p50, b.p50) })
		low, high := have[0], have[len(have)-1]
		text := fmt.Sprintf("%s (p50): %s %s, %s %s", units.Capital(m.Noun), low.Label, units.Duration(low.p50), high.Label, units.Duration(high.p50))
		if i := stats.Shift(high.p50s, low.p50s); i != nil && i.Low != nil {
			return fmt.Sprintf("%s (ratio %s, 95 %% interval %s to %s, %d and %d trials).", text,
				units.Number(i.Center), units.Number(*i.Low), units.Number(*i.High), len(low.p50s), len(high.p50s))
		}
		return fmt.Sprintf("%s. Too few trials to compare them (%d and %d): use --ab, or --trials 10.", text, len(low.p50s), len(high.p50s))
	}
	return ""
}

// unequalConditions warns if some subjects ran in the process of zkbench, which is faster, and others as
// separate processes.
func unequalConditions(s matrix.Scenario) string {
	var inside, separate []string
	for _, x := range s.Series {
		timed, driven := false, false
		for _, t := range x.Trials {
			for _, m := range latencies {
				timed = timed || t.Metrics[m.Name].P50 != nil
			}
			driven = driven || t.Metrics[metrics.PipeRoundtrip].P50 != nil
		}
		switch {
		case driven:
			separate = append(separate, x.Subject)
		case timed:
			inside = append(inside, x.Subject)
		}
	}
	if len(inside) == 0 || len(separate) == 0 {
		return ""
	}
	inside, separate = slices.Compact(inside), slices.Compact(separate)
	return fmt.Sprintf("The conditions are unequal: %s ran as separate processes, %s in the process of zkbench, which is faster. --set apart=true runs all subjects as separate processes.", units.List(separate), units.List(inside))
}
