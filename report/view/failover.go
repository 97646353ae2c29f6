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

// overlapText returns for how long two clients believed that they held at the same time.
func overlapText(x matrix.Series) string {
	if longest := longestOverlap(x); longest > 0 {
		return fmt.Sprintf("In %s, two clients believed for up to %s that they held at the same time; the verdicts show whether this is a violation.", x.Label, units.Duration(longest))
	}
	return ""
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

// promiseTexts reports whether a promised failover time was kept, and whether the arithmetic guarantees
// it: a run measures a few failovers, and longer ones may come.
func promiseTexts(x matrix.Series) []string {
	var out []string
	for _, t := range x.Trials {
		promise, err := time.ParseDuration(t.Params["promise"])
		m := t.Metrics[metrics.FailoverLatency]
		if err != nil || m.Max == nil {
			continue
		}
		answer := "The promise of %s was kept for %s, and its predicted range ends within it: %s."
		if p := t.Metrics[metrics.FailoverPredicted].Value; p == nil {
			answer = "The promise of %s was kept for %s in every failover measured: %s."
		} else if *p > float64(promise) {
			answer = "The promise of %s was kept for %s in every failover measured, but is not guaranteed: up to " + units.Duration(*p) + " is predicted; %s."
		}
		why := cmp.Or(m.Note, "the longest failover took "+units.Duration(*m.Max))
		switch {
		case *m.Max > float64(promise):
			answer = "The promise of %s was broken for %s: %s."
		case m.Never > 0:
			answer = "It is unknown whether the promise of %s holds for %s: %s."
			why = units.Plural(int(m.Never), "failover") + " ended without a grant"
		}
		out = append(out, fmt.Sprintf(answer, units.Duration(float64(promise)), trialLabel(x.Label, t), strings.TrimSuffix(why, ".")))
	}
	return out
}
