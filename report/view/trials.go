package view

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// tables returns the tables of trials, by scenario.
func (b builder) tables() []Table {
	var out []Table
	for _, s := range b.scenarios {
		if isAudit(s) {
			for _, a := range b.audits(s) {
				out = append(out, a.tables()...)
			}
		} else if isZoo(s) {
			out = append(out, zooTable(ofScenario(b.Result.Trials, s.Name)))
		} else {
			out = append(out, trialTable(ofScenario(b.trials, s.Name)))
		}
	}
	return out
}

type column struct {
	Column
	cell func(report.Trial) string
}

// trialTable returns a table with the columns that are not empty.
func trialTable(trials []report.Trial) Table {
	cols := columns(trials)
	var t Table
	for _, c := range cols {
		t.Columns = append(t.Columns, c.Column)
	}
	for _, trial := range trials {
		r := Row{Result: trial.Outcome()}
		for _, c := range cols {
			r.Cells = append(r.Cells, c.cell(trial))
		}
		t.Rows = append(t.Rows, r)
	}
	return t.filled()
}

func columns(trials []report.Trial) []column {
	all := []column{
		{Column{Head: "subject"}, func(t report.Trial) string { return units.Clean(t.Subject) }},
		number("clients", 0, func(t report.Trial) string { return units.Number(float64(t.Clients)) }),
		number("trials", 2, func(t report.Trial) string {
			if t.Merged == 0 {
				return ""
			}
			return units.Number(float64(t.Merged))
		}),
	}
	for _, l := range measuredLatencies(trials) {
		i := slices.IndexFunc(latencies, func(x metrics.Definition) bool { return x.Name == l.Name }) // less important columns are omitted first
		all = append(all, number(l.Head+" p50", i+1, measured(field(l.Name, "p50"), "ns")), number("p99", i+4, measured(field(l.Name, "p99"), "ns")), number("max", i+5, measured(field(l.Name, "max"), "ns")))
	}
	return append(all,
		number("pipe p50", 2, measured(field(metrics.PipeRoundtrip, "p50"), "ns")),
		number("clocks ±", 2, measured(field(metrics.AgentsClock, "value"), "ns")),
		number("notif./hand-off", 1, measured(field(metrics.FanoutNotifications, "value"), "1")),
		number("formula", 3, measured(field(metrics.FanoutNotifications, "expected"), "1")),
		number("notif./flap", 1, measured(field(metrics.FlapNotifications, "value"), "1")),
		number("formula", 3, measured(field(metrics.FlapNotifications, "expected"), "1")),
		number("items/notif.", 3, measured(field(metrics.QueueYield, "value"), "1")),
		number("capacity", 1, measured(field(metrics.Capacity, "value"), "1/s")),
		number("unserved", 2, fraction(metrics.Unserved)),
		number("all connected", 1, measured(field(metrics.ConnectAll, "value"), "ns")),
		number("heap/session", 1, measured(field(metrics.SessionHeap, "value"), "B")),
		number("goroutines", 3, measured(field(metrics.SessionGoroutines, "value"), "1")),
		number("all reconnected", 1, measured(field(metrics.ReconnectAll, "value"), "ns")),
		number("expired", 1, fraction(metrics.SessionsExpired)),
		number("queue", 2, measured(field(metrics.MemberQueue, "value"), "1")),
		number("slowest request", 4, measured(field(metrics.MemberLatency, "value"), "ns")),
		number("requests", 6, measured(field(metrics.FanoutRequests, "value"), "1")),
		number("false belief p50", 1, measured(field(metrics.PausedBelief, "p50"), "ns")),
		number("notified after", 2, measured(field(metrics.PausedNotice, "p50"), "ns")),
		number("wrote unaware", 2, fraction(metrics.PausedBlind)),
		number("unfenced accepted", 1, fraction(metrics.PausedThrough)),
		number("rejected by token", 1, fraction(metrics.PausedStopped)),
		number("throughput", 7, measured(field(metrics.Throughput, "value"), "1/s")),
		column{Column{Head: "result", Kind: Status}, status})
}

func number(head string, spare int, cell func(report.Trial) string) column {
	return column{Column{Head: head, Kind: Number, Spare: spare}, cell}
}

func measured(read reader, unit string) func(report.Trial) string {
	return func(t report.Trial) string { return quantity(read(t), unit) }
}

// fraction formats a count and its total: "2 of 3". It is empty for merged trials, for which a
// sentence reports each trial.
func fraction(metric string) func(report.Trial) string {
	return func(t report.Trial) string {
		m := t.Metrics[metric]
		if m.Value == nil || m.Count == nil || t.Merged > 1 {
			return ""
		}
		return units.Number(*m.Value) + " of " + units.Number(float64(*m.Count))
	}
}

// quantity formats a number; "" if it was not measured.
func quantity(v *float64, unit string) string {
	if v == nil {
		return ""
	}
	return units.Quantity(*v, unit)
}

// status describes the result of a trial: pass, or the failed or unknown checks.
func status(t report.Trial) string {
	outcome := t.Outcome()
	if outcome == report.Pass {
		return outcome
	}
	var names []string
	for _, c := range checks(t) {
		if c.Result == outcome && !c.repeats(t) {
			names = append(names, units.Clean(c.Broken))
		}
	}
	if n := t.Unproven(); n > 0 && len(names) == 0 {
		names = append(names, units.Plural(n, "fault")+" without proof")
	}
	if outcome == report.Fail {
		outcome = "FAIL"
	}
	return outcome + ": " + strings.Join(names, ", ")
}

// Measured contains the numbers of one trial for benchmark tools.
type Measured struct {
	Scenario, Subject string
	Varying           []matrix.Param // the parameters that distinguish its series
	Clients           int
	Samples           int64 // of the first number
	Numbers           []NumberOf
}

// NumberOf is a number with its unit: 5200000 "ns/handoff-p50".
type NumberOf struct {
	Value float64
	Unit  string
}

const perSecond = "throughput/s"

// measurements returns the numbers of every trial, by series.
func (b builder) measurements() []Measured {
	var out []Measured
	for _, s := range b.scenarios {
		for _, x := range s.Series {
			for _, t := range x.Trials {
				m := Measured{Scenario: t.Scenario, Subject: x.Subject, Varying: x.Varying, Clients: t.Clients, Samples: 1}
				m.read(t)
				out = append(out, m)
			}
		}
	}
	return out
}

func (m *Measured) read(t report.Trial) {
	add := func(v *float64, unit string) {
		if v != nil {
			m.Numbers = append(m.Numbers, NumberOf{*v, unit})
		}
	}
	for _, l := range latencies {
		d := t.Metrics[l.Name]
		short, _, _ := strings.Cut(l.Name, ".")
		if d.P50 != nil && d.Count != nil && m.Samples == 1 {
			m.Samples = max(1, *d.Count)
		}
		add(d.P50, "ns/"+short+"-p50")
		add(field(l.Name, "p99")(t), "ns/"+short+"-p99")
	}
	for _, c := range []struct{ metric, unit string }{
		{metrics.FanoutNotifications, "notifications/handoff"}, {metrics.FanoutRequests, "requests/handoff"},
		{metrics.FanoutBytes, "B/handoff"}, {metrics.Throughput, perSecond},
	} {
		add(t.Metrics[c.metric].Value, c.unit)
	}
}
