package view

import (
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// noun is what the clients of the run are.
func (b builder) noun() string {
	for _, s := range b.scenarios {
		return s.Noun()
	}
	return "contender"
}

// goroutinesNote says what a session takes beside heap.
func goroutinesNote(_ builder, t report.Trial) string {
	goroutines, stacks := t.Metrics[metrics.SessionGoroutines].Value, t.Metrics[metrics.SessionStacks].Value
	if goroutines == nil || stacks == nil {
		return ""
	}
	return units.Number(*goroutines) + " goroutines, with " + units.Quantity(*stacks, "B") + " of stacks"
}

// queueNote says whose queue that was, and who said nothing of its own.
func queueNote(_ builder, t report.Trial) string {
	note := t.Metrics[metrics.MemberQueue].Note
	silent := t.Metrics[metrics.MemberSilent].Note
	if silent == "" {
		return note
	}
	if note != "" {
		note += "; "
	}
	return note + "no answer: " + silent
}
