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

// measures says what the numbers come to, scenario by scenario. The numbers themselves are
// headlines, and stand in tables.
func (b builder) measures() []Finding {
	out := b.pairs()
	for _, s := range b.scenarios {
		switch {
		case audited(s):
			if all := b.audits(s); len(all) == 1 { // several are summed up in a table
				out = append(out, comesTo("", all[0].found())...)
			}
		case zoo(s):
			out = append(out, comesTo("", foundInZoo(s)...)...)
		default:
			out = append(out, b.measuresOf(s)...)
		}
	}
	return out
}

// comesTo are findings of what was measured, without empty ones.
func comesTo(subject string, lines ...string) (out []Finding) {
	for _, s := range lines {
		if s != "" {
			out = append(out, Finding{Kind: Measures, Subject: subject, Text: s})
		}
	}
	return out
}

// pairs says what the comparisons of trials with their neighbours came to: differences first.
func (b builder) pairs() []Finding {
	var seen, unseen []Finding
	for _, c := range b.Result.Comparisons {
		label, at := b.names.Label(c.Cell), units.Plural(c.Clients, "contender")
		if c.Ratio.Low != nil && *c.Ratio.Low <= 1 && *c.Ratio.High >= 1 {
			unseen = append(unseen, comesTo(label, fmt.Sprintf("At %s, trial by trial, no difference is seen in %s of %s: %s.", at, c.Metric, label, c))...)
		} else {
			seen = append(seen, comesTo(label, fmt.Sprintf("At %s, trial by trial, %s of %s is %s.", at, c.Metric, label, c))...)
		}
	}
	return append(seen, unseen...)
}

// measuresOf says what the numbers of a scenario come to that is neither an audit nor a zoo.
func (b builder) measuresOf(s matrix.Scenario) (out []Finding) {
	for _, x := range s.Series {
		lines := append(append(promises(x), troubles(x)...), exposure(x))
		lines = append(append(lines, pausedHolders(x)...), capacities(x)...)
		out = append(out, comesTo(x.Label, lines...)...)
	}
	// Where subjects took turns, neighbouring trials say more than the medians of all. In a
	// run that ended early, some had less of a trial than others.
	turns := slices.ContainsFunc(b.Result.Comparisons, func(c report.Comparison) bool { return c.Scenario == s.Name })
	if !turns && b.Result.Run.Ended == "" {
		out = append(out, comesTo("", extremes(s, s.Common()))...)
	}
	return append(out, comesTo("", unlike(s))...)
}

// ranked is a series, the p50 of each of its trials, and their median.
type ranked struct {
	matrix.Series
	p50s []float64
	p50  float64
}

// extremes compares the subject with the lowest latency and the one with the highest, by the first
// latency that at least two have. Subjects that broke a guarantee are left out. It makes no claim:
// the ratio has its confidence interval, or the sentence says that there is none.
func extremes(s matrix.Scenario, clients int) string {
	for _, m := range latencies {
		var have []ranked
		for _, x := range s.Series {
			if v, ok := median(x, clients, m.Name, "p50"); ok && v > 0 && !broken(x) {
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

// unlike says whom a comparison of latencies favours: who ran in the process of zkbench, beside
// programs of their own.
func unlike(s matrix.Scenario) string {
	var here, apart []string
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
			apart = append(apart, x.Subject)
		case timed:
			here = append(here, x.Subject)
		}
	}
	if len(here) == 0 || len(apart) == 0 {
		return ""
	}
	here, apart = slices.Compact(here), slices.Compact(apart)
	return fmt.Sprintf("Unlike %s, %s ran in the process of zkbench, which is faster: --set apart=true has all be programs of their own.", units.List(apart), units.List(here))
}
