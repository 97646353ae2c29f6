package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

type column struct {
	Column
	cell func(report.Trial) string
}

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
	return t.withoutEmptyColumns()
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
		number("not granted", 2, fraction(metrics.Unserved)),
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
		number("wrote before notified", 2, fraction(metrics.PausedUnaware)),
		number("unfenced accepted", 1, fraction(metrics.PausedAccepted)),
		number("rejected by token", 1, fraction(metrics.PausedFenced)),
		number("throughput", 7, measured(field(metrics.Throughput, "value"), "1/s")),
		column{Column{Head: "result", Kind: Status}, status})
}

func number(head string, spare int, cell func(report.Trial) string) column {
	return column{NumberColumn(head, spare), cell}
}

func measured(read func(report.Trial) *float64, unit string) func(report.Trial) string {
	return func(t report.Trial) string { return quantity(read(t), unit) }
}

// fraction formats a count and its total: "2 of 3". Merged trials have a sentence for each trial instead.
func fraction(metric string) func(report.Trial) string {
	return func(t report.Trial) string {
		m := t.Metrics[metric]
		if m.Value == nil || m.Count == nil || t.Merged > 1 {
			return ""
		}
		return units.Number(*m.Value) + " of " + units.Number(float64(*m.Count))
	}
}

func quantity(v *float64, unit string) string {
	if v == nil {
		return ""
	}
	return units.Quantity(*v, unit)
}

func status(t report.Trial) string {
	outcome := t.Outcome()
	if outcome == report.Pass {
		return outcome
	}
	var names []string
	for _, c := range checks(t) {
		if c.Result == outcome && !c.repeats(t) {
			names = append(names, units.Clean(c.FailedName))
		}
	}
	if n := t.CountUnproven(); n > 0 && len(names) == 0 {
		names = append(names, units.Plural(n, "fault")+" without proof")
	}
	if outcome == report.Fail {
		outcome = "FAIL"
	}
	return outcome + ": " + strings.Join(names, ", ")
}

func measuredFindings(lines ...string) (out []Finding) {
	for _, s := range lines {
		if s != "" {
			out = append(out, Finding{Kind: Measurement, Text: s})
		}
	}
	return out
}

// comparisonFindings returns findings from the comparisons with the base, differences first. A finding
// claims a difference only if the confidence interval excludes 1.
func (b builder) comparisonFindings() []Finding {
	var different, others []Finding
	for _, c := range b.Result.Comparisons {
		label, to, text := b.names.Label(c.Cell), &others, ""
		switch {
		case c.Ratio.Low == nil:
			text = "At %s, there are too few pairs of trials to compare %s of %s: %s."
		case *c.Ratio.Low <= 1 && *c.Ratio.High >= 1:
			text = "A comparison trial by trial at %s found no difference in %s of %s: %s."
		default:
			to, text = &different, "A comparison trial by trial at %s: %s of %s is %s."
		}
		*to = append(*to, measuredFindings(fmt.Sprintf(text, units.Plural(c.Clients, "contender"), c.Metric, label, c))...)
	}
	return append(different, others...)
}

func (b builder) measuresOf(s matrix.Scenario) (out []Finding) {
	for _, x := range s.Series {
		lines := slices.Concat(trialTexts(x, promiseText), trialTexts(x, failedText, starvedText), []string{overlapText(x)},
			trialTexts(x, capacityText, pathsText), []string{stagesText(x)})
		out = append(out, measuredFindings(lines...)...)
	}
	// Comparisons of adjacent trials are more precise than comparisons of the medians. In a run
	// that ended early, subjects may have different numbers of trials.
	turns := slices.ContainsFunc(b.Result.Comparisons, func(c report.Comparison) bool { return c.Scenario == s.Name })
	if !turns && b.Result.Run.EndReason == "" {
		out = append(out, measuredFindings(extremes(s, s.Common()))...)
	}
	return append(out, measuredFindings(unequalConditions(s))...)
}

func trialTexts(x matrix.Series, texts ...func(label string, t report.Trial) string) (out []string) {
	for _, t := range x.Trials {
		for _, text := range texts {
			out = append(out, text(trialLabel(x.Label, t), t))
		}
	}
	return out
}

func brokeGuarantee(t report.Trial) bool {
	return slices.ContainsFunc(t.Verdicts, func(v report.Verdict) bool { return v.Result == report.Fail })
}

type ranked struct {
	matrix.Series
	p50s []float64
	p50  float64
}

// extremes compares the subjects with the lowest and the highest latency, by the first latency
// that at least two subjects have. It omits subjects that broke a guarantee. The sentence contains
// the confidence interval of the ratio, or states that there are too few trials.
func extremes(s matrix.Scenario, clients int) string {
	for _, m := range latencies {
		var have []ranked
		for _, x := range s.Series {
			r := ranked{Series: x}
			for _, t := range x.At(clients) {
				if p50 := t.Metrics[m.Name].P50; p50 != nil {
					r.p50s = append(r.p50s, *p50)
				}
			}
			if r.p50, _ = stats.Middle(r.p50s); r.p50 > 0 && !slices.ContainsFunc(x.Trials, brokeGuarantee) {
				have = append(have, r)
			}
		}
		if len(have) < 2 {
			continue
		}
		slices.SortStableFunc(have, func(a, b ranked) int { return cmp.Compare(a.p50, b.p50) })
		low, high := have[0], have[len(have)-1]
		text := fmt.Sprintf("%s (p50): %s %s, %s %s", units.Capital(m.Noun), low.Label, units.Duration(low.p50), high.Label, units.Duration(high.p50))
		if i := stats.Shift(high.p50s, low.p50s); i != nil && i.Low != nil {
			if *i.Low <= 1 && *i.High >= 1 {
				text = "No difference was found. " + text
			}
			return fmt.Sprintf("%s (ratio %s, 95 %% confidence interval %s to %s, %d and %d trials).", text,
				units.Number(i.Center), units.Number(*i.Low), units.Number(*i.High), len(low.p50s), len(high.p50s))
		}
		return fmt.Sprintf("%s. Too few trials to compare them (%d and %d): use --ab, or --trials 10.", text, len(low.p50s), len(high.p50s))
	}
	return ""
}

// unequalConditions warns if some subjects ran in the process of zkbench, which is faster, and others not.
func unequalConditions(s matrix.Scenario) string {
	var inside, separate []string
	for _, x := range s.Series {
		switch {
		case slices.ContainsFunc(x.Trials, func(t report.Trial) bool { return t.Metrics[metrics.PipeRoundtrip].P50 != nil }):
			separate = append(separate, x.Subject)
		case len(measuredLatencies(x.Trials)) > 0:
			inside = append(inside, x.Subject)
		}
	}
	if len(inside) == 0 || len(separate) == 0 {
		return ""
	}
	inside, separate = slices.Compact(inside), slices.Compact(separate)
	return fmt.Sprintf("The conditions are unequal: %s ran as separate processes, but %s ran in the zkbench process, which is faster. Use --set apart=true to run all subjects as separate processes.", units.List(separate), units.List(inside))
}

var latencies = metrics.Latencies()

// measuredLatencies returns the latencies that at least one trial has. It omits the acquire latency if
// there are hand-offs, unless acquires were due at a rate.
func measuredLatencies(trials []report.Trial) []metrics.Definition {
	has := func(metric string) bool {
		return slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Metrics[metric].P50 != nil })
	}
	open := slices.ContainsFunc(trials, func(t report.Trial) bool { return metrics.HasOpenLoop(t.Metrics) })
	return slices.DeleteFunc(slices.Clone(latencies), func(l metrics.Definition) bool {
		return !has(l.Name) || l.Name == metrics.AcquireLatency && has(metrics.HandoffLatency) && !open
	})
}

// field returns a reader of a metric's field; it returns nil for a quantile of too few samples.
func field(metric, name string) func(report.Trial) *float64 {
	return report.Measure{Metric: metric, Field: name}.Value
}
