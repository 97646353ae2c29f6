package text

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// failovers says whether failovers took as long as predicted, and whether the promise
// about them holds: over all trials of a series.
func failovers(x matrix.Series) []string {
	var out []string
	rounds, outside := 0, 0
	for _, t := range x.Trials {
		if m := t.Metrics[metrics.FailoverOutside]; m.Count != nil && m.Value != nil {
			rounds, outside = rounds+int(*m.Count), outside+int(*m.Value)
		}
	}
	switch {
	case rounds == 0:
		return nil
	case outside == 0:
		out = append(out, fmt.Sprintf("In each of %s of %s the next grant came when ZooKeeper's own arithmetic predicts it.", units.Plural(rounds, "round"), x.Label))
	default:
		out = append(out, fmt.Sprintf("In %d of %s of %s the next grant came earlier or later than ZooKeeper's own arithmetic predicts.", outside, units.Plural(rounds, "round"), x.Label))
	}
	return append(out, promised(x)...)
}

// promised answers an operator's question with yes or no.
func promised(x matrix.Series) []string {
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
		why := m.Note
		if why == "" {
			why = "the longest failover took " + units.Duration(*m.Max)
		}
		out = append(out, fmt.Sprintf(answer, units.Duration(float64(promise)), where(x.Label, t), strings.TrimSuffix(why, ".")))
	}
	return out
}

// calmAndStorm compares the throughput of a series' phases, by the median of its trials,
// and says how fair it was. Where items were put at a rate, throughput is only that rate.
func calmAndStorm(x matrix.Series, clients int) string {
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
	s := fmt.Sprintf("Grants of %s: %s", where(x.Label, t), list(parts))
	if m := t.Metrics[metrics.Fairness]; m.Value != nil {
		s += fmt.Sprintf("; shared with a fairness of %.2f (1 is alike)", *m.Value)
	}
	return s + "."
}
