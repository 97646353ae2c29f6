package view

import (
	"fmt"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// pausedHolders says what holders did that went on after a pause, trial by trial.
func pausedHolders(x matrix.Series) (out []string) {
	for _, t := range x.Trials {
		if t.Metrics[metrics.PausedBlind].Count != nil {
			out = append(out, pausedHolder(where(x.Label, t), t))
		}
	}
	return out
}

func pausedHolder(who string, t report.Trial) string {
	blind, belief := t.Metrics[metrics.PausedBlind], t.Metrics[metrics.PausedBelief]
	s := fmt.Sprintf("A holder of %s that was paused past its session believed for %s (p50) after the next grant that it still held",
		who, units.Duration(*belief.P50))
	switch notice := t.Metrics[metrics.PausedNotice]; {
	case notice.P50 == nil:
		s += ", and was never told otherwise"
	default:
		s += fmt.Sprintf(", and was told %s (p50) after it went on", units.Duration(*notice.P50))
		if belief.Note != "" {
			s += " (" + belief.Note + ")"
		}
		s += fmt.Sprintf(". It made its next write before that in %s of %s", units.Number(*blind.Value), units.Plural(int(*blind.Count), "round"))
	}
	if through := t.Metrics[metrics.PausedThrough]; through.Value == nil {
		s += ". Its driver offers no write, so nothing is known of unfenced ones"
	} else if *through.Count > 0 {
		s += fmt.Sprintf(". Of %s that nothing fenced %s went through", units.Plural(int(*through.Count), "late write"), units.Number(*through.Value))
	}
	if stopped := t.Metrics[metrics.PausedStopped]; *stopped.Count > 0 {
		s += fmt.Sprintf("; the token stopped %s of %s", units.Number(*stopped.Value), units.Plural(int(*stopped.Count), "fenced one"))
	}
	return s + "."
}
