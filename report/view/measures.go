package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report"
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
		out = append(out, comesTo("", fastest(s, s.Common()))...)
	}
	return append(out, comesTo("", unlike(s))...)
}

// ranked is a series and its median.
type ranked struct {
	matrix.Series
	p50 float64
}

// fastest sets the fastest series against the slowest, by the first latency that at least
// two have. One that broke a guarantee is neither: what it does fast is not what it was
// asked to do.
func fastest(s matrix.Scenario, clients int) string {
	for _, m := range latencies {
		var have []ranked
		for _, x := range s.Series {
			if v, ok := median(x, clients, m.Name, "p50"); ok && v > 0 && !broken(x) {
				have = append(have, ranked{x, v})
			}
		}
		if len(have) < 2 {
			continue
		}
		slices.SortStableFunc(have, func(a, b ranked) int { return cmp.Compare(a.p50, b.p50) })
		fast, slow := have[0], have[len(have)-1]
		if ratio := slow.p50 / fast.p50; ratio >= 1.2 {
			return fmt.Sprintf("%s of %s is %s faster than that of %s%s.", units.Capital(m.Noun), fast.Label, units.Ratio(ratio), slow.Label, parting(s, m.Name, fast, slow))
		}
		return fmt.Sprintf("%s differs by less than a fifth between %s and %s.", units.Capital(m.Noun), fast.Label, slow.Label)
	}
	return ""
}

// parting says from which count on the slower takes at least twice as long, when that is
// not from the smallest on.
func parting(s matrix.Scenario, metric string, fast, slow ranked) string {
	from, first := -1, -1
	for _, n := range s.Counts {
		a, okA := median(fast.Series, n, metric, "p50")
		b, okB := median(slow.Series, n, metric, "p50")
		if !okA || !okB || a <= 0 {
			continue
		}
		if first < 0 {
			first = n
		}
		if b < 2*a {
			from = -1
		} else if from < 0 {
			from = n
		}
	}
	if from <= first {
		return ""
	}
	return fmt.Sprintf("; from %s on %s takes at least twice as long", units.Plural(from, "contender"), slow.Label)
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
