package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// measures says what was measured, scenario by scenario, at the largest count of clients
// that all its series share.
func (b builder) measures() []Finding {
	var out []Finding
	say := func(subject, s string) {
		if s != "" {
			out = append(out, Finding{Kind: Measures, Subject: subject, Text: s})
		}
	}
	for _, s := range b.scenarios {
		if zoo(s) {
			for _, line := range foundInZoo(s) {
				say("", line)
			}
			continue
		}
		n := s.Common()
		for _, x := range s.Series {
			say(x.Label, cost(x, n))
			say(x.Label, flap(x, n))
			say(x.Label, yield(x, n))
		}
		// Where subjects took turns, neighbouring trials say more than the medians of all.
		if !slices.ContainsFunc(b.Result.Comparisons, func(c report.Comparison) bool { return c.Scenario == s.Name }) {
			say("", fastest(s, n))
		}
		for _, x := range s.Series {
			say(x.Label, phases(x, n))
			for _, line := range slices.Concat(recoveries(x), failovers(x)) {
				say(x.Label, line)
			}
		}
	}
	for _, c := range b.Result.Comparisons {
		label := b.names.Label(c.Cell)
		say(label, fmt.Sprintf("At %s, trial by trial, %s of %s is %s.", units.Plural(c.Clients, "contender"), c.Metric, label, c))
	}
	return out
}

// cost says what one hand-off of a series takes and causes, or what else takes how long.
func cost(x matrix.Series, clients int) string {
	at := "At " + units.Plural(clients, "contender")
	var says []string
	if p50, ok := median(x, clients, metrics.HandoffLatency, "p50"); ok {
		s := fmt.Sprintf("takes %s (p50", units.Duration(p50))
		if p99 := field(metrics.HandoffLatency, "p99")(matrix.Merge(x.At(clients))); p99 != nil { // as in the table
			s += ", p99 " + units.Duration(*p99)
		}
		says = append(says, s+")")
	}
	if s := notifications(x, clients, metrics.FanoutNotifications); s != "" {
		says = append(says, "causes "+s)
	}
	if len(says) > 0 {
		return fmt.Sprintf("%s, one hand-off of %s %s.", at, x.Label, units.List(says))
	}
	for _, m := range latencies {
		if p50, ok := median(x, clients, m.Name, "p50"); ok && m.Name != metrics.HandoffLatency {
			return fmt.Sprintf("%s, %s of %s takes %s (p50).", at, m.Noun, x.Label, units.Duration(p50))
		}
	}
	return ""
}

// notifications says how many there were, and how many the formula gives.
func notifications(x matrix.Series, clients int, metric string) string {
	v, ok := median(x, clients, metric, "value")
	if !ok {
		return ""
	}
	s := counted(v, "notification")
	if e, ok := median(x, clients, metric, "expected"); ok {
		s += " (formula " + units.Number(e) + ")"
	}
	return s
}

func counted(v float64, noun string) string {
	if v != 1 {
		noun += "s"
	}
	return units.Number(v) + " " + noun
}

// flap says what it causes that a waiter is gone for a moment.
func flap(x matrix.Series, clients int) string {
	if s := notifications(x, clients, metrics.FlapNotifications); s != "" {
		return fmt.Sprintf("At %s, a waiter of %s that is gone for a moment causes %s.", units.Plural(clients, "contender"), x.Label, s)
	}
	return ""
}

// yield says what a notification was good for, in a stream of items.
func yield(x matrix.Series, clients int) string {
	v, ok := median(x, clients, metrics.QueueYield, "value")
	if !ok {
		return ""
	}
	s := fmt.Sprintf("At %s, %s took %s for each notification", units.Plural(clients, "consumer"), x.Label, counted(v, "item"))
	if r, ok := median(x, clients, metrics.QueueRequests, "value"); ok {
		s += fmt.Sprintf(" and sent %s for each item", counted(r, "request"))
	}
	return s + "."
}

// ranked is a series and its median.
type ranked struct {
	matrix.Series
	p50 float64
}

// fastest sets the fastest series against the slowest, by the first latency that at
// least two series have.
func fastest(s matrix.Scenario, clients int) string {
	for _, m := range latencies {
		var have []ranked
		for _, x := range s.Series {
			if v, ok := median(x, clients, m.Name, "p50"); ok && v > 0 {
				have = append(have, ranked{x, v})
			}
		}
		if len(have) < 2 {
			continue
		}
		slices.SortStableFunc(have, func(a, b ranked) int { return cmp.Compare(a.p50, b.p50) })
		fast, slow := have[0], have[len(have)-1]
		if ratio := slow.p50 / fast.p50; ratio >= 1.2 {
			return fmt.Sprintf("%s of %s is %s faster than that of %s%s.", units.Capital(m.Noun), fast.Label, units.Ratio(ratio), slow.Label, parting(s, m.Name, fast, slow))
		}
		return fmt.Sprintf("%s differs by less than a fifth between %s and %s.", units.Capital(m.Noun), fast.Label, slow.Label)
	}
	return ""
}

// parting says from which count on the slower takes at least twice as long, when that is
// not from the smallest on.
func parting(s matrix.Scenario, metric string, fast, slow ranked) string {
	from, first := -1, -1
	for _, n := range s.Counts {
		a, okA := median(fast.Series, n, metric, "p50")
		b, okB := median(slow.Series, n, metric, "p50")
		if !okA || !okB || a <= 0 {
			continue
		}
		if first < 0 {
			first = n
		}
		if b < 2*a {
			from = -1
		} else if from < 0 {
			from = n
		}
	}
	if from <= first {
		return ""
	}
	return fmt.Sprintf("; from %s on %s takes at least twice as long", units.Plural(from, "contender"), slow.Label)
}
