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
	number  float64
}

const (
	headlineLimit = 5 // of a run
	valueLimit    = 4 // of a headline
)

// question is a number that can answer a scenario's question: the median of a distribution, else the value.
type question struct {
	title        string
	metric       string
	higher       bool    // is better
	only         bool    // no table contains the number
	openLoopOnly bool    // only for open loops
	below        float64 // only if some value is lower; 0: always
	// note returns additional information; nil: defaultNote. noted is the metric of the note; "": metric.
	note  func(builder, report.Trial, report.Metric) string
	noted string
}

var questions = []question{
	{title: "false belief of a paused holder (p50)", metric: metrics.PausedBelief, note: worstNote},
	{title: "from resume to notification (p50)", metric: metrics.PausedNotice, note: worstNote},
	{title: "unfenced late writes accepted", metric: metrics.PausedAccepted, note: countNote},
	{title: "late writes rejected by the token", metric: metrics.PausedFenced, higher: true, note: countNote},
	{title: "failovers outside the predicted range", metric: metrics.FailoverOutside, only: true, note: roundsNote},
	{title: "time until all were connected", metric: metrics.ConnectAll, noted: metrics.ConnectLatency},
	{title: "heap per session", metric: metrics.SessionHeap, note: goroutinesNote},
	{title: "time until all were reconnected", metric: metrics.ReconnectAll, noted: metrics.ReconnectLatency},
	{title: "longest request queue of a member", metric: metrics.MemberQueue, note: queueNote},
	{title: "capacity", metric: metrics.Capacity, higher: true},
	{title: "from due time to grant (p50)", metric: metrics.AcquireLatency, openLoopOnly: true},
	{title: "notifications per hand-off", metric: metrics.FanoutNotifications},
	{title: "notifications when a waiter rejoins", metric: metrics.FlapNotifications},
	{title: "hand-off (p50)", metric: metrics.HandoffLatency},
	{title: "from due time to take (p50)", metric: metrics.QueueLatency},
	{title: "items per notification", metric: metrics.QueueYield, higher: true},
	{title: "from a fault to the next grant (p50)", metric: metrics.FailoverLatency, note: worstNote},
	{title: "time without a holder (p50)", metric: metrics.LeaderlessTime, note: worstNote},
	{title: "grants per second", metric: metrics.Throughput, higher: true, note: phasesNote},
	{title: "fairness (1 is equal)", metric: metrics.Fairness, only: true, higher: true, below: 0.9},
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

func (b builder) headline(s matrix.Scenario, clients int, q question) Headline {
	count, read := s.Count(clients), field(q.metric, "value")
	if d, _, _ := metrics.Find(q.metric); d.Distribution {
		read = field(q.metric, "p50")
	}
	if strings.HasPrefix(q.metric, "queue.") {
		count.Noun = "consumer"
	}
	h := Headline{Title: fmt.Sprintf("%s, %s", q.title, count), Tabled: !q.only}
	var all []Value
	for _, x := range s.Series {
		t := matrix.Merge(x.At(clients))
		v, open := read(t), metrics.HasOpenLoop(t.Metrics)
		if v == nil || q.metric == metrics.Throughput && open || q.openLoopOnly && !open {
			continue
		}
		value := Value{Text: units.Quantity(*v, unitOf(t.Metrics[q.metric])), Broken: hasFailure(x), number: *v}
		if len(s.Series) > 1 {
			value.Subject = x.Label
		}
		if m := t.Metrics[cmp.Or(q.noted, q.metric)]; len(s.Series) <= valueLimit && q.note != nil {
			value.Note = q.note(b, t, m)
		} else if len(s.Series) <= valueLimit {
			value.Note = defaultNote(m)
		}
		all = append(all, value)
	}
	sign := 1
	if q.higher {
		sign = -1
	}
	slices.SortStableFunc(all, func(a, b Value) int { return sign * cmp.Compare(a.number, b.number) })
	if q.below > 0 && !slices.ContainsFunc(all, func(v Value) bool { return v.number < q.below }) {
		return h
	}
	h.Values, h.More = selectValues(all)
	return h
}

// selectValues returns the values to show, given all in order: the best and the worst of the subjects that
// broke no guarantee, or of all subjects if each broke one. more describes the omitted values.
func selectValues(all []Value) (sound []Value, more string) {
	sound = slices.DeleteFunc(slices.Clone(all), func(v Value) bool { return v.Broken })
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
		sound = []Value{{Text: sound[0].Text, Note: fmt.Sprintf("all %d", len(sound)), Broken: sound[0].Broken}}
	default:
		parts = append(parts, fmt.Sprintf("%d with values between these", n))
		sound = slices.Delete(slices.Clone(sound), valueLimit/2, valueLimit/2+n)
	}
	if len(parts) > 0 {
		more = "not shown: " + strings.Join(parts, ", ")
	}
	return sound, more
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

func countNote(_ builder, _ report.Trial, m report.Metric) string {
	if m.Count == nil {
		return ""
	}
	return fmt.Sprintf("of %d", *m.Count)
}

func roundsNote(_ builder, _ report.Trial, m report.Metric) string {
	if m.Count == nil {
		return ""
	}
	return "of " + units.Plural(int(*m.Count), "round")
}

// defaultNote returns the value of the formula, the highest quantile that tables show, or the note of the metric.
func defaultNote(m report.Metric) string {
	switch {
	case m.Expected != nil:
		return "formula " + units.Number(*m.Expected)
	case m.P99 != nil && !m.TooFew("p99"):
		return "p99 " + units.Duration(*m.P99)
	}
	return m.Note
}

// worstNote returns a note with the maximum, the fault that explains it, and the number of samples.
func worstNote(b builder, t report.Trial, m report.Metric) string {
	switch {
	case m.Max == nil || m.Count == nil:
		return ""
	case *m.Count == 1:
		return "measured once"
	}
	s := "at worst " + units.Duration(*m.Max)
	if fault := b.faultBehind(t, *m.Max); fault != "" {
		s += ", after " + fault
	}
	return fmt.Sprintf("%s, in %d samples", s, *m.Count)
}

// faultBehind returns the fault that began with, or was active during, the longest failover; "" if unknown.
func (b builder) faultBehind(t report.Trial, longest float64) string {
	trace := b.trace(t.Name)
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

func phasesNote(_ builder, t report.Trial, _ report.Metric) string {
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
