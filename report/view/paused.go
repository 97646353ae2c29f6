package view

import (
	"fmt"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// pausedHolders describes, for each trial, the actions of paused holders after they resumed.
func pausedHolders(x matrix.Series) (out []string) {
	for _, t := range x.Trials {
		if t.Metrics[metrics.PausedBlind].Count != nil {
			out = append(out, pausedHolder(trialLabel(x.Label, t), t))
		}
	}
	return out
}

func pausedHolder(label string, t report.Trial) string {
	blind, belief := t.Metrics[metrics.PausedBlind], t.Metrics[metrics.PausedBelief]
	s := fmt.Sprintf("A holder of %s that was paused beyond its session still believed for %s (p50) after the next grant that it held",
		label, units.Duration(*belief.P50))
	switch notice := t.Metrics[metrics.PausedNotice]; {
	case notice.P50 == nil:
		s += ", and was never notified"
	default:
		s += fmt.Sprintf(", and was notified %s (p50) after it resumed", units.Duration(*notice.P50))
		if belief.Note != "" {
			s += " (" + belief.Note + ")"
		}
		s += fmt.Sprintf(". It wrote again before the notification in %s of %s", units.Number(*blind.Value), units.Plural(int(*blind.Count), "round"))
	}
	if through := t.Metrics[metrics.PausedThrough]; through.Value == nil {
		s += ". Its driver does not implement write, so unfenced writes were not tested"
	} else if *through.Count > 0 {
		s += fmt.Sprintf(". Of %s without a fence, %s succeeded", units.Plural(int(*through.Count), "late write"), units.Number(*through.Value))
	}
	if stopped := t.Metrics[metrics.PausedStopped]; *stopped.Count > 0 {
		s += fmt.Sprintf("; the token rejected %s of %s", units.Number(*stopped.Value), units.Plural(int(*stopped.Count), "fenced write"))
	}
	return s + "."
}
