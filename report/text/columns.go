package text

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Latencies are the latencies that tables show, the most telling first.
var Latencies = metrics.Latencies()

// Column is one column of the table of trials.
type Column struct {
	Head  string
	Right bool // numbers stand to the right
	Cell  func(report.Trial) string
	// spare says when the column goes in a narrow terminal; the lowest stays longest.
	spare int
}

// Columns returns the columns that at least one trial fills.
func Columns(trials []report.Trial) []Column {
	all := []Column{
		{Head: "subject", Cell: func(t report.Trial) string { return units.Clean(t.Subject) }},
		{Head: "clients", Right: true, Cell: func(t report.Trial) string { return units.Number(float64(t.Clients)) }},
		{Head: "must be caught by", spare: 1, Cell: func(t report.Trial) string { return units.Clean(list(t.Expect)) }},
		{Head: "trials", Right: true, spare: 2, Cell: func(t report.Trial) string { return merged(t) }},
	}
	handoffs := slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Metrics["handoff.latency"].P50 != nil })
	for i, l := range Latencies {
		if l.Name == "acquire.latency" && handoffs { // the wait in line says little beside it
			continue
		}
		all = append(all,
			Column{Head: l.Head + " p50", Right: true, spare: i + 1, Cell: func(t report.Trial) string { return timeCell(t.Metrics[l.Name].P50) }},
			Column{Head: "p99", Right: true, spare: i + 4, Cell: func(t report.Trial) string { return timeCell(p99Of(l.Name)(t)) }},
			Column{Head: "max", Right: true, spare: i + 5, Cell: func(t report.Trial) string { return timeCell(t.Metrics[l.Name].Max) }})
	}
	all = append(all,
		Column{Head: "notif./hand-off", Right: true, spare: 1, Cell: numberCell(valueOf("fanout.notifications"))},
		Column{Head: "formula", Right: true, spare: 3, Cell: numberCell(expectedOf("fanout.notifications"))},
		Column{Head: "notif./flap", Right: true, spare: 1, Cell: numberCell(valueOf("flap.notifications"))},
		Column{Head: "formula", Right: true, spare: 3, Cell: numberCell(expectedOf("flap.notifications"))},
		Column{Head: "items/notif.", Right: true, spare: 3, Cell: numberCell(valueOf("queue.yield"))},
		Column{Head: "requests", Right: true, spare: 6, Cell: numberCell(valueOf("fanout.requests"))},
		Column{Head: "throughput", Right: true, spare: 7, Cell: func(t report.Trial) string {
			m := t.Metrics["throughput"]
			if m.Value == nil {
				return ""
			}
			return units.Quantity(*m.Value, m.Unit)
		}},
		Column{Head: "result", Cell: Result})
	return slices.DeleteFunc(all, func(c Column) bool {
		return c.Head != "result" && !slices.ContainsFunc(trials, func(t report.Trial) bool { return c.Cell(t) != "" })
	})
}

func merged(t report.Trial) string {
	if t.Merged == 0 {
		return ""
	}
	return strconv.Itoa(t.Merged)
}

// Result is the last column: pass, or what was broken or left open.
func Result(t report.Trial) string {
	var what []string
	outcome := TrialOutcome(t)
	for _, f := range findings([]report.Trial{t}, outcome == report.Fail) {
		what = append(what, units.Clean(f.what))
	}
	switch outcome {
	case report.Pass:
		if len(t.Expect) > 0 {
			return "pass: caught"
		}
		return "pass"
	case report.Fail:
		return "FAIL: " + strings.Join(what, ", ")
	}
	if n := t.Unproven(); n > 0 && len(what) == 0 {
		what = append(what, units.Plural(n, "fault")+" without proof")
	}
	return "unknown: " + strings.Join(what, ", ")
}

func timeCell(v *float64) string {
	if v == nil {
		return ""
	}
	return units.Duration(*v)
}

func numberCell(read func(report.Trial) *float64) func(report.Trial) string {
	return func(t report.Trial) string {
		if v := read(t); v != nil {
			return units.Number(*v)
		}
		return ""
	}
}

func p50Of(metric string) func(report.Trial) *float64 {
	return func(t report.Trial) *float64 { return t.Metrics[metric].P50 }
}

func p99Of(metric string) func(report.Trial) *float64 {
	return func(t report.Trial) *float64 {
		m := t.Metrics[metric]
		if m.TooFew("p99") {
			return nil
		}
		return m.P99
	}
}

func valueOf(metric string) func(report.Trial) *float64 {
	return func(t report.Trial) *float64 { return t.Metrics[metric].Value }
}

func expectedOf(metric string) func(report.Trial) *float64 {
	return func(t report.Trial) *float64 { return t.Metrics[metric].Expected }
}
