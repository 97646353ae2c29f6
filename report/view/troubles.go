package view

import (
	"fmt"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// troubles reports problems that break no guarantee: operations that failed with no fault active,
// and clients that starved.
func troubles(x matrix.Series) (lines []string) {
	for _, t := range x.Trials {
		if m := t.Metrics[metrics.OperationsFailed]; m.Value != nil && *m.Value > 0 && m.Count != nil {
			lines = append(lines, fmt.Sprintf("%s of %s at %s failed with no fault active. The first: %s.",
				units.Number(*m.Value), units.Plural(int(*m.Count), "operation"), units.Plural(t.Clients, "client"), m.Note))
		}
		if m := t.Metrics[metrics.Overtaken]; m.Value != nil && m.Expected != nil && *m.Value > *m.Expected && m.Count != nil {
			lines = append(lines, fmt.Sprintf("Starvation: %s of %d waited while others were granted more than %d times for each contender; the client that waited longest was passed over %s times.",
				units.Plural(int(*m.Count), "client"), t.Clients, metrics.Starving, units.Number(*m.Value)))
		}
	}
	return lines
}
