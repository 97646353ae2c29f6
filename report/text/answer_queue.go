package text

import (
	"fmt"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// flap says what it causes that a waiter is gone for a moment.
func flap(x matrix.Series, clients int) string {
	v, ok := matrix.Median(x.At(clients), valueOf("flap.notifications"))
	if !ok {
		return ""
	}
	s := fmt.Sprintf("At %s, a waiter of %s that is gone for a moment causes %s", units.Plural(clients, "contender"), x.Label, notifications(v))
	if e, ok := matrix.Median(x.At(clients), expectedOf("flap.notifications")); ok {
		s += " (formula " + units.Number(e) + ")"
	}
	return s + "."
}

func notifications(v float64) string {
	if v == 1 {
		return "1 notification"
	}
	return units.Number(v) + " notifications"
}

// yield says what a notification was good for, in a stream of items.
func yield(x matrix.Series, clients int) string {
	v, ok := matrix.Median(x.At(clients), valueOf("queue.yield"))
	if !ok {
		return ""
	}
	s := fmt.Sprintf("At %s, %s took %s items for each notification", units.Plural(clients, "consumer"), x.Label, units.Number(v))
	if v == 1 {
		s = fmt.Sprintf("At %s, %s took 1 item for each notification", units.Plural(clients, "consumer"), x.Label)
	}
	if r, ok := matrix.Median(x.At(clients), valueOf("queue.requests")); ok {
		s += fmt.Sprintf(" and sent %s requests for each item", units.Number(r))
	}
	return s + "."
}
