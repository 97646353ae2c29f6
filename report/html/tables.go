package html

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/text"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// row is a verdict or a threshold of one trial.
type row struct {
	Result  string
	What    string
	Trial   string
	Reasons []string
	Records string
}

// results lists verdicts and thresholds, the broken first, the unknown next.
func results(trials []report.Trial) (verdicts, thresholds []row) {
	for _, t := range trials {
		if len(t.Expect) > 0 {
			verdicts = append(verdicts, specimen(t))
			continue
		}
		for _, v := range t.Verdicts {
			verdicts = append(verdicts, row{known(v.Result), v.Guarantee, title(t), v.Reasons, numbers(v.Records)})
		}
		for _, h := range t.Thresholds {
			thresholds = append(thresholds, row{known(h.Result), h.Expr, title(t), []string{cmp.Or(h.Measured, "not measured")}, ""})
		}
		if len(t.Verdicts) == 0 {
			verdicts = append(verdicts, row{report.Unknown, "none", title(t), []string{"no guarantee was judged"}, ""})
		}
	}
	worstFirst(verdicts)
	worstFirst(thresholds)
	return verdicts, thresholds
}

// specimen is the one row of a subject that is broken on purpose: was it caught? Its
// failed verdicts would stand above those that nobody expects, and hide them.
func specimen(t report.Trial) row {
	r := row{Result: text.TrialOutcome(t), What: "caught by " + strings.Join(t.Expect, ", "), Trial: title(t)}
	if missed := t.Missed(); len(missed) > 0 {
		r.Reasons = []string{"not caught by " + strings.Join(missed, ", ")}
	}
	var records []int
	for _, v := range t.Verdicts {
		if slices.Contains(t.Expect, v.Guarantee) {
			r.Reasons, records = slices.Concat(r.Reasons, v.Reasons), slices.Concat(records, v.Records)
		}
	}
	r.Records = numbers(records)
	return r
}

func worstFirst(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return verdict.Severity(b.Result) - verdict.Severity(a.Result) })
}

// known maps anything but pass and fail to unknown.
func known(result string) string {
	if result == report.Pass || result == report.Fail {
		return result
	}
	return report.Unknown
}

// numbers lists record numbers, the first twenty.
func numbers(records []int) string {
	var parts []string
	for i, n := range records {
		if i == 20 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ", ")
}

// faultTable is the faults of one trial.
type faultTable struct {
	Title  string
	Count  string
	Open   bool
	Faults []faultRow
	More   int
}

type faultRow struct {
	Class, Effect, Fault, Target, At, For, Words string
}

func faults(trials []report.Trial) []faultTable {
	var out []faultTable
	for _, t := range trials {
		if len(t.Faults) == 0 {
			continue
		}
		f := faultTable{Title: title(t), Count: units.Plural(len(t.Faults), "fault"), Open: len(t.Faults) <= 10}
		for i, x := range t.Faults {
			if i == faultLimit {
				f.More = len(t.Faults) - i
				break
			}
			f.Faults = append(f.Faults, newFaultRow(x))
		}
		out = append(out, f)
	}
	return out
}

func newFaultRow(f report.Fault) faultRow {
	r := faultRow{Fault: f.Fault, Target: f.Target, At: units.Duration(float64(f.Start)), Words: f.Proof}
	if f.End >= f.Start {
		r.For = units.Duration(float64(f.End - f.Start))
	}
	switch {
	case f.Skipped():
		r.Class, r.Effect, r.Words = "skipped", "skipped", f.Err
	case f.Proof == "":
		r.Class, r.Effect, r.Words = report.Unknown, report.Unknown, cmp.Or(f.Err, "no proof of its effect")
	default:
		r.Class, r.Effect = report.Pass, "proven"
		if f.Err != "" {
			r.Words += " (" + f.Err + ")"
		}
	}
	return r
}

// metricTable is every metric of one trial.
type metricTable struct {
	Title string
	Rows  []metricRow
}

type metricRow struct {
	Name  string
	Cells []string
}

func metrics(trials []report.Trial) []metricTable {
	var out []metricTable
	for _, t := range trials {
		m := metricTable{Title: title(t)}
		for _, name := range text.Keys(t.Metrics) {
			m.Rows = append(m.Rows, newMetricRow(name, t.Metrics[name]))
		}
		out = append(out, m)
	}
	return out
}

func newMetricRow(name string, m report.Metric) metricRow {
	if m.Phase != "" {
		name += " (" + m.Phase + ")"
	}
	write := func(v *float64) string {
		if v == nil {
			return ""
		}
		return units.Quantity(*v, m.Unit)
	}
	enough := func(v *float64, samples int64) string {
		if m.Count != nil && *m.Count < samples {
			return ""
		}
		return write(v)
	}
	count := ""
	if m.Count != nil {
		count = units.Number(float64(*m.Count))
	}
	return metricRow{name, []string{count, write(m.Value), write(m.Expected), write(m.Servers), write(m.Min), write(m.Mean),
		write(m.P50), enough(m.P90, 10), enough(m.P99, 100), enough(m.P999, 1000), write(m.Max)}}
}

// fact is one line of how it was measured.
type fact struct{ Name, Value string }

func facts(r report.Result) []fact {
	run := r.Run
	out := []fact{{"run", run.ID}}
	if !run.Start.IsZero() {
		out = append(out, fact{"started", run.Start.UTC().Format("2006-01-02 15:04:05 MST")})
	}
	if run.Elapsed > 0 {
		out = append(out, fact{"took", units.Duration(float64(run.Elapsed))})
	}
	out = append(out, fact{"ended", cmp.Or(run.Ended, "when it was complete")}, fact{"seed", strconv.FormatUint(run.Seed, 10)})
	e := run.Ensemble
	about := fmt.Sprintf("%s, %s", units.Plural(e.Members, "member"), cmp.Or(e.Kind, "kind unknown"))
	if e.About != "" {
		about += ", " + e.About
	}
	if e.Tick > 0 {
		about += ", tick " + units.Duration(float64(e.Tick))
	}
	out = append(out, fact{"ensemble", about})
	for _, k := range text.Keys(run.Host) {
		out = append(out, fact{"host: " + k, run.Host[k]})
	}
	var versions []string
	for _, k := range text.Keys(run.Versions) {
		versions = append(versions, text.Version(k, run.Versions[k]))
	}
	out = append(out, self(r.Trials)...)
	return append(out, fact{"versions", cmp.Or(strings.Join(versions, ", "), "unknown")})
}

// self is what the harness measured about itself: the worst over all trials.
func self(trials []report.Trial) []fact {
	worst := map[string]report.Metric{}
	for _, t := range trials {
		for name, m := range t.Metrics {
			if w, seen := worst[name]; strings.HasPrefix(name, "self.") && m.Value != nil && (!seen || *m.Value > *w.Value) {
				worst[name] = m
			}
		}
	}
	var out []fact
	for _, name := range text.Keys(worst) {
		m := worst[name]
		out = append(out, fact{"harness: " + strings.TrimPrefix(name, "self."), "at worst " + units.Quantity(*m.Value, m.Unit)})
	}
	return out
}
