package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// phases compares the throughput of a series' phases, by the median of its trials, and
// says how fair it was. Where items were put at a rate, throughput is only that rate.
func phases(x matrix.Series, clients int) string {
	t := matrix.Merge(x.At(clients))
	if _, open := t.Metrics[metrics.QueueYield]; open {
		return ""
	}
	var parts []string
	for _, name := range metrics.OfPhases(metrics.Throughput, t.Metrics) {
		m := t.Metrics[name]
		parts = append(parts, fmt.Sprintf("%s in %s", units.Quantity(*m.Value, m.Unit), m.Phase))
	}
	if len(parts) < 2 {
		return ""
	}
	s := fmt.Sprintf("Grants of %s: %s", where(x.Label, t), units.List(parts))
	if m := t.Metrics[metrics.Fairness]; m.Value != nil {
		s += fmt.Sprintf("; shared with a fairness of %.2f (1 is alike)", *m.Value)
	}
	return s + "."
}

// recoveries says how long recovery took, over all client counts of a series.
func recoveries(x matrix.Series) []string {
	var out []string
	for _, m := range []struct{ name, words, noun string }{
		{metrics.FailoverLatency, "After a fault, the next grant of %s came %s later (p50), at worst %s, over %s.", "failover"},
		{metrics.LeaderlessTime, "%s was without a leader for %s (p50), at worst %s, over %s.", "spell"},
	} {
		longest, count := 0.0, int64(0)
		for _, t := range x.Trials {
			if d := t.Metrics[m.name]; d.Max != nil && d.Count != nil {
				longest, count = max(longest, *d.Max), count+*d.Count
			}
		}
		if p50, ok := matrix.Median(x.Trials, field(m.name, "p50")); ok && count > 0 {
			out = append(out, fmt.Sprintf(m.words, x.Label, units.Duration(p50), units.Duration(longest), units.Plural(int(count), m.noun)))
		}
	}
	if longest := longestOverlap(x); longest > 0 {
		out = append(out, fmt.Sprintf("In %s two clients believed at once that they held, for up to %s; the verdicts say whether that is a violation.", x.Label, units.Duration(longest)))
	}
	return out
}

func longestOverlap(x matrix.Series) float64 {
	longest := 0.0
	for _, t := range x.Trials {
		m := t.Metrics[metrics.BeliefOverlap]
		for _, v := range []*float64{m.Max, m.Value} {
			if v != nil {
				longest = max(longest, *v)
			}
		}
	}
	return longest
}

// failovers says whether failovers took as long as predicted, and whether the promise
// about them holds: over all trials of a series.
func failovers(x matrix.Series) []string {
	rounds, outside := 0, 0
	for _, t := range x.Trials {
		if m := t.Metrics[metrics.FailoverOutside]; m.Count != nil && m.Value != nil {
			rounds, outside = rounds+int(*m.Count), outside+int(*m.Value)
		}
	}
	if rounds == 0 {
		return nil
	}
	of := fmt.Sprintf("%s of %s", units.Plural(rounds, "round"), x.Label)
	says := "In each of " + of + " the next grant came when ZooKeeper's own arithmetic predicts it."
	if outside > 0 {
		says = fmt.Sprintf("In %d of %s the next grant came earlier or later than ZooKeeper's own arithmetic predicts.", outside, of)
	}
	return append([]string{says}, promises(x)...)
}

// promises answers an operator's question with yes or no.
func promises(x matrix.Series) []string {
	var out []string
	for _, t := range x.Trials {
		promise, err := time.ParseDuration(t.Params["promise"])
		m := t.Metrics[metrics.FailoverLatency]
		if err != nil || m.Max == nil {
			continue
		}
		answer := "Yes, the promise of %s holds for %s: %s."
		if *m.Max > float64(promise) {
			answer = "No, the promise of %s does not hold for %s: %s."
		}
		why := cmp.Or(m.Note, "the longest failover took "+units.Duration(*m.Max))
		out = append(out, fmt.Sprintf(answer, units.Duration(float64(promise)), where(x.Label, t), strings.TrimSuffix(why, ".")))
	}
	return out
}
