package text

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
)

func TestAnswers_flapAndYield(t *testing.T) {
	trial := func(subject string, metrics map[string]report.Metric) report.Trial {
		return report.Trial{Name: subject, Scenario: "s", Subject: subject, Clients: 10, Metrics: metrics}
	}
	r := report.Result{Trials: []report.Trial{
		trial("lock/parent", map[string]report.Metric{"flap.notifications": {Unit: "1/flap", Value: new(17.0), Expected: new(17.0)}}),
		trial("lock/predecessor", map[string]report.Metric{"flap.notifications": {Unit: "1/flap", Value: new(1.0)}}),
		trial("queue/parent", map[string]report.Metric{
			"queue.yield": {Unit: "1/notification", Value: new(0.25)}, "queue.requests": {Unit: "1/item", Value: new(30.0)}}),
	}}
	got := strings.Join(Answers(r).Found, "\n")
	for _, want := range []string{
		"At 10 contenders, a waiter of lock/parent that is gone for a moment causes 17 notifications (formula 17).",
		"At 10 contenders, a waiter of lock/predecessor that is gone for a moment causes 1 notification.",
		"At 10 consumers, queue/parent took 0.25 items for each notification and sent 30 requests for each item.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q, but\n%s", want, got)
		}
	}
}
