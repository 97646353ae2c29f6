package view

import (
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// noun returns the noun for the clients of the run.
func (b builder) noun() string {
	for _, s := range b.scenarios {
		return s.Noun()
	}
	return "contender"
}

// goroutinesNote returns the goroutines and stacks per session.
func goroutinesNote(_ builder, t report.Trial) string {
	goroutines, stacks := t.Metrics[metrics.SessionGoroutines].Value, t.Metrics[metrics.SessionStacks].Value
	if goroutines == nil || stacks == nil {
		return ""
	}
	return units.Number(*goroutines) + " goroutines, with " + units.Quantity(*stacks, "B") + " of stacks"
}

// queueNote returns which member's queue it was, and which members did not report their queue.
func queueNote(_ builder, t report.Trial) string {
	note := t.Metrics[metrics.MemberQueue].Note
	noAnswer := t.Metrics[metrics.MemberSilent].Note
	if noAnswer == "" {
		return note
	}
	if note != "" {
		note += "; "
	}
	return note + "no answer: " + noAnswer
}
