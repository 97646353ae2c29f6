package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Headline is a number that answers the scenario's question, for each subject.
type Headline struct {
	Title  string // "hand-off (p50) at 50 contenders"
	Values []Value
	More   string // number of omitted values
	Tabled bool   // the tables contain the number too
}

// Value is the value of one subject.
type Value struct {
	Subject string // empty if there is only one
	Text    string // "2.80 ms"
	Note    string // "p99 9.10 ms"
	Broken  bool   // the subject broke a guarantee, so that its speed does not count
}

const (
	headlineLimit = 5 // of a run
	valueLimit    = 4 // of a headline
)

// headlines returns the numbers that answer the question, the most important first.
func (b builder) headlines() []Headline {
	var out []Headline
	for _, s := range b.scenarios {
		switch {
		case isAudit(s):
			out = append(out, b.auditHeadlines(s)...)
		case isZoo(s):
			out = append(out, zooHeadlines(s)...)
		default:
			out = append(out, b.scenarioHeadlines(s)...)
		}
	}
	return out[:min(len(out), headlineLimit)]
}

// question is a number that can answer a scenario's question.
type question struct {
	title  string
	metric string
	field  string
	higher bool // is better
	tabled bool
	open   bool    // only for open loops
	below  float64 // only if some value is lower; 0: always
	note   func(builder, report.Trial) string
}

var questions = []question{
	{title: "false belief of a paused holder (p50)", metric: metrics.PausedBelief, field: "p50", tabled: true, note: worstNote(metrics.PausedBelief)},
	{title: "from resume to notification (p50)", metric: metrics.PausedNotice, field: "p50", tabled: true, note: worstNote(metrics.PausedNotice)},
	{title: "unfenced late writes accepted", metric: metrics.PausedThrough, field: "value", tabled: true, note: countNote(metrics.PausedThrough)},
	{title: "late writes rejected by the token", metric: metrics.PausedStopped, field: "value", higher: true, tabled: true, note: countNote(metrics.PausedStopped)},
	{title: "failovers outside the predicted range", metric: metrics.FailoverOutside, field: "value", note: roundsNote},
	{title: "time until all were connected", metric: metrics.ConnectAll, field: "value", tabled: true, note: p99Note(metrics.ConnectLatency)},
	{title: "heap per session", metric: metrics.SessionHeap, field: "value", tabled: true, note: goroutinesNote},
	{title: "time until all were reconnected", metric: metrics.ReconnectAll, field: "value", tabled: true, note: p99Note(metrics.ReconnectLatency)},
	{title: "longest request queue of a member", metric: metrics.MemberQueue, field: "value", tabled: true, note: queueNote},
	{title: "capacity", metric: metrics.Capacity, field: "value", higher: true, tabled: true, note: capacityNote},
	{title: "from due time to grant (p50)", metric: metrics.AcquireLatency, field: "p50", tabled: true, open: true, note: p99Note(metrics.AcquireLatency)},
	{title: "notifications per hand-off", metric: metrics.FanoutNotifications, field: "value", tabled: true, note: formulaNote(metrics.FanoutNotifications)},
	{title: "notifications when a waiter rejoins", metric: metrics.FlapNotifications, field: "value", tabled: true, note: formulaNote(metrics.FlapNotifications)},
	{title: "hand-off (p50)", metric: metrics.HandoffLatency, field: "p50", tabled: true, note: p99Note(metrics.HandoffLatency)},
	{title: "from due time to take (p50)", metric: metrics.QueueLatency, field: "p50", tabled: true, note: p99Note(metrics.QueueLatency)},
	{title: "items per notification", metric: metrics.QueueYield, field: "value", higher: true, tabled: true},
	{title: "from a fault to the next grant (p50)", metric: metrics.FailoverLatency, field: "p50", tabled: true, note: worstNote(metrics.FailoverLatency)},
	{title: "time without a holder (p50)", metric: metrics.LeaderlessTime, field: "p50", tabled: true, note: worstNote(metrics.LeaderlessTime)},
	{title: "grants per second", metric: metrics.Throughput, field: "value", higher: true, tabled: true, note: phasesNote},
	{title: "fairness (1 is equal)", metric: metrics.Fairness, field: "value", higher: true, below: 0.9},
}

// scenarioHeadlines returns the headlines for the largest number of clients that all series have.
func (b builder) scenarioHeadlines(s matrix.Scenario) (out []Headline) {
	n := s.Common()
	for _, q := range questions {
		if h := b.headline(s, n, q); len(h.Values) > 0 {
			out = append(out, h)
		}
	}
	return out
}

type measuredValue struct {
	Value
	number float64
}

func (b builder) headline(s matrix.Scenario, clients int, q question) Headline {
	count := s.Count(clients)
	if strings.HasPrefix(q.metric, "queue.") {
		count.Noun = "consumer"
	}
	h := Headline{Title: fmt.Sprintf("%s, %s", q.title, count), Tabled: q.tabled}
	var all []measuredValue
	for _, x := range s.Series {
		t := matrix.Merge(x.At(clients))
		v := field(q.metric, q.field)(t)
		if v == nil || q.metric == metrics.Throughput && metrics.AtRate(t.Metrics) || q.open && !metrics.AtRate(t.Metrics) {
			continue
		}
		value := Value{Text: units.Quantity(*v, unitOf(t.Metrics[q.metric])), Broken: hasFailure(x)}
		if len(s.Series) > 1 {
			value.Subject = x.Label
		}
		if q.note != nil && len(s.Series) <= valueLimit {
			value.Note = q.note(b, t)
		}
		all = append(all, measuredValue{value, *v})
	}
	sign := 1
	if q.higher {
		sign = -1
	}
	slices.SortStableFunc(all, func(a, b measuredValue) int { return sign * cmp.Compare(a.number, b.number) })
	if q.below > 0 && !slices.ContainsFunc(all, func(v measuredValue) bool { return v.number < q.below }) {
		return h
	}
	h.Values, h.More = selectValues(all)
	return h
}

// selectValues returns the values to show, given all in order: the best and the worst of the subjects that
// broke no guarantee, or of all subjects if each broke one. more describes the omitted values.
func selectValues(all []measuredValue) (out []Value, more string) {
	sound := slices.DeleteFunc(slices.Clone(all), func(v measuredValue) bool { return v.Broken })
	left := len(all) - len(sound)
	var parts []string
	switch {
	case len(sound) == 0:
		sound = all
	case left > 0:
		parts = append(parts, fmt.Sprintf("%d with a broken guarantee", left))
	}
	switch n := len(sound) - valueLimit; {
	case n <= 0:
	case sound[0].Text == sound[len(sound)-1].Text:
		same := Value{Text: sound[0].Text, Note: fmt.Sprintf("all %d", len(sound)), Broken: sound[0].Broken}
		sound = []measuredValue{{same, sound[0].number}}
	default:
		parts = append(parts, fmt.Sprintf("%d with values between these", n))
		sound = slices.Delete(slices.Clone(sound), valueLimit/2, valueLimit/2+n)
	}
	if len(parts) > 0 {
		more = "not shown: " + strings.Join(parts, ", ")
	}
	for _, v := range sound {
		out = append(out, v.Value)
	}
	return out, more
}

// unitOf returns the unit, or "1" if the title contains it already ("per hand-off").
func unitOf(m metrics.Metric) string {
	if strings.HasPrefix(m.Unit, "1/") && m.Unit != "1/s" {
		return "1"
	}
	return m.Unit
}

func hasFailure(x matrix.Series) bool {
	return slices.ContainsFunc(x.Trials, func(t report.Trial) bool {
		return slices.ContainsFunc(t.Verdicts, func(v report.Verdict) bool { return v.Result == report.Fail })
	})
}

func countNote(metric string) func(builder, report.Trial) string {
	return func(_ builder, t report.Trial) string {
		if n := t.Metrics[metric].Count; n != nil {
			return fmt.Sprintf("of %d", *n)
		}
		return ""
	}
}

func roundsNote(_ builder, t report.Trial) string {
	m := t.Metrics[metrics.FailoverOutside]
	if m.Count == nil {
		return ""
	}
	return "of " + units.Plural(int(*m.Count), "round")
}

func formulaNote(metric string) func(builder, report.Trial) string {
	return func(_ builder, t report.Trial) string {
		if e := t.Metrics[metric].Expected; e != nil {
			return "formula " + units.Number(*e)
		}
		return ""
	}
}

func p99Note(metric string) func(builder, report.Trial) string {
	return func(b builder, t report.Trial) string {
		if v := field(metric, "p99")(t); v != nil {
			return "p99 " + units.Duration(*v)
		}
		return ""
	}
}

// worstNote returns a note with the maximum, the fault that explains it, and the number of samples.
func worstNote(metric string) func(builder, report.Trial) string {
	return func(b builder, t report.Trial) string {
		m := t.Metrics[metric]
		if m.Max == nil || m.Count == nil {
			return ""
		}
		if *m.Count == 1 {
			return "measured once"
		}
		s := "at worst " + units.Duration(*m.Max)
		if fault := b.faultBehind(t, *m.Max); fault != "" {
			s += ", after " + fault
		}
		return fmt.Sprintf("%s, in %d samples", s, *m.Count)
	}
}

// faultBehind returns the fault that began at the start of the longest failover, or that was active
// during it; "" if none is known.
func (b builder) faultBehind(t report.Trial, longest float64) string {
	trace := b.Traces[t.Name]
	if trace == nil {
		return ""
	}
	for _, h := range trace.Handoffs {
		if float64(h.Latency) != longest {
			continue
		}
		from := h.At - h.Latency
		for _, f := range slices.Backward(trace.Faults) {
			if f.Start <= from+time.Millisecond && f.End >= from || f.Start >= from && f.Start <= h.At {
				return units.Clean(f.Fault)
			}
		}
	}
	return ""
}

func phasesNote(_ builder, t report.Trial) string {
	var parts []string
	for _, name := range metrics.OfPhases(metrics.Throughput, t.Metrics) {
		m := t.Metrics[name]
		parts = append(parts, fmt.Sprintf("%s in %s", units.Number(*m.Value), m.Phase))
	}
	if len(parts) < 2 {
		return ""
	}
	return strings.Join(parts, ", ")
}

// String returns the headline as a sentence.
func (h Headline) String() string {
	var parts []string
	for _, v := range h.Values {
		s := v.Text
		if v.Subject != "" {
			s = v.Subject + " " + s
		}
		if v.Note != "" {
			s += " (" + v.Note + ")"
		}
		if v.Broken {
			s += " [broken]"
		}
		parts = append(parts, s)
	}
	if h.More != "" {
		parts = append(parts, h.More)
	}
	return units.Capital(h.Title) + ": " + strings.Join(parts, "; ") + "."
}
