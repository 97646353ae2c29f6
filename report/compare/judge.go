package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// alpha is the accepted probability that a whole comparison reports a difference by chance.
const alpha = 0.05

// countAlpha is alpha for counts that vary. Only counts that increased are tested, which doubles the
// probability of a false alarm.
const countAlpha = 0.005

// count compares a count. If every old trial equals the formula, any increase is worse. Other counts
// vary, because notifications coalesce and consumers race. They are not worse if the new maximum is at
// most the old maximum plus the slack, and the median did not increase by more than the limit (a
// single old trial may be an outlier). Otherwise the samples are compared like times.
func count(old, new []report.Trial, metric string, slack, limit float64) (Row, bool) {
	m := report.Measure{Metric: metric, Field: "value"}
	a, b := values(old, m), values(new, m)
	if r, ok := incomparable(old, new, m); ok {
		r.What, r.Decides = metric, true
		return r, true
	}
	if len(a) == 0 || len(b) == 0 {
		return Row{}, false
	}
	r := Row{
		What: metric, Unit: unit(new, m), Decides: true, Result: Same,
		Old: Side{stats.Median(a), len(a)}, New: Side{stats.Median(b), len(b)},
	}
	most, least := slices.Max(a), slices.Min(a)
	r.Ratio = ratioOf(r.New.Center, r.Old.Center)
	switch eps := 1e-9; {
	case slices.Max(b) > most*(1+slack+eps) && equalsFormula(old, metric):
		r.Result, r.Ratio = Worse, ratioOf(slices.Max(b), most)
		r.Why = fmt.Sprintf("at most %s before, up to %s now", units.Quantity(most, r.Unit), units.Quantity(slices.Max(b), r.Unit))
	case slices.Max(b) > most*(1+slack+eps), r.New.Center > r.Old.Center*(1+max(slack, limit)+eps):
		varies, _ := compareSamples(m, a, b)
		varies.What, varies.Unit, varies.Decides, varies.alpha = r.What, r.Unit, true, countAlpha
		return varies, true
	case slices.Min(b) < least*(1-slack-eps):
		r.Result = Better
	}
	return r, true
}

func equalsFormula(trials []report.Trial, metric string) bool {
	for _, t := range trials {
		if m, ok := t.Metrics[metric]; ok && (m.Expected == nil || m.Value == nil || *m.Value != *m.Expected) {
			return false
		}
	}
	return true
}

func ratioOf(new, old float64) *report.Interval {
	if old <= 0 {
		return nil
	}
	return &report.Interval{Center: new / old}
}

func compareSamples(m report.Measure, old, new []float64) (Row, bool) {
	if len(old) == 0 || len(new) == 0 {
		return Row{}, false
	}
	r := Row{What: m.String(), Result: Unknown, alpha: alpha, Old: Side{stats.Median(old), len(old)}, New: Side{stats.Median(new), len(new)}, higherIsBetter: m.HigherIsBetter()}
	if noise, ok := stats.HalvesRatio(old); ok {
		r.Noise = &noise
	}
	p := stats.PValue(old, new)
	r.P, r.Ratio = &p, stats.Shift(old, new)
	return r, true
}

// decide sets the result of a row with samples. tests is the number of rows that share the
// probability of a false alarm (Bonferroni correction).
//
// A significant increase above the limit is worse, a significant decrease is better. The result is not
// worse if the confidence interval ends below the limit, and otherwise unknown.
func (r *Row) decide(limit float64, tests int) {
	cost, ok := r.costRatio()
	if !ok {
		r.Result, r.Why = Unknown, "a value is 0, so a ratio cannot be computed"
		return
	}
	need := stats.MinSampleSize(r.alpha / float64(tests))
	if n := min(r.Old.N, r.New.N); n < need || cost.Low == nil {
		r.Result, r.More = Unknown, max(1, need-n)
		r.Why = fmt.Sprintf("not enough trials: run %s", moreTrialsText(r.More))
		return
	}
	significant := *r.P < r.alpha/float64(tests)
	switch {
	case significant && cost.Center > 1+limit:
		r.Result = Worse
	case significant && *cost.High < 1:
		r.Result = Better
	case *cost.High <= 1+limit:
		r.Result = Same
	default:
		r.Result, r.More = Unknown, stats.More(min(r.Old.N, r.New.N), cost, 1+limit)
		r.Why = fmt.Sprintf("too noisy to rule out a regression of %s: run %s", percent(limit), moreTrialsText(r.More))
	}
}

// costRatio returns the ratio, inverted if higher is better, so that a higher ratio is worse.
func (r *Row) costRatio() (report.Interval, bool) {
	if r.Ratio == nil || r.Ratio.Center <= 0 {
		return report.Interval{}, false
	}
	if !r.higherIsBetter {
		return *r.Ratio, true
	}
	return r.Ratio.Inverse(), true
}

func moreTrialsText(n int) string { return units.Plural(n, "more trial") + " of each" }

func percent(f float64) string { return strconv.FormatFloat(math.Round(f*1e4)/1e2, 'f', -1, 64) + " %" }

func shownMeasures() []report.Measure {
	var out []report.Measure
	for _, d := range metrics.All() {
		for _, field := range d.Shown {
			out = append(out, report.Measure{Metric: d.Name, Field: field})
		}
	}
	return out
}

func decidingMeasures() []report.Measure {
	var out []report.Measure
	for _, d := range metrics.All() {
		if d.Decides {
			out = append(out, report.Measure{Metric: d.Name, Field: d.Main})
		}
	}
	return out
}

func values(trials []report.Trial, m report.Measure) []float64 {
	var out []float64
	for _, t := range trials {
		if v := m.Value(t); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// ratios returns the ratio of each trial's value to the value of the base's trial in the same repetition.
// These ratios do not depend on the speed of the machine.
func (c cell) ratios(m report.Measure) []float64 {
	var out []float64
	for _, t := range c.trials {
		a, b := m.Value(c.bases[t.Repetition]), m.Value(t)
		if a != nil && b != nil && *a > 0 {
			out = append(out, *b / *a)
		}
	}
	return out
}

// incomparable returns a row for a measure whose units differ in the runs, or that only the old run has.
func incomparable(old, new []report.Trial, m report.Measure) (Row, bool) {
	a, b := values(old, m), values(new, m)
	r := Row{What: m.String(), Result: Unknown, Old: Side{N: len(a)}, New: Side{N: len(b)}}
	switch was, is := unitsOf(old, m), unitsOf(new, m); {
	case len(a) > 0 && len(b) == 0:
		r.Why = "measured before, but not now"
	case len(a) > 0 && !(len(was) == 1 && slices.Equal(was, is)):
		r.Why = fmt.Sprintf("unit %s before, %s now", strings.Join(was, " and "), strings.Join(is, " and "))
	}
	return r, r.Why != ""
}

// missingRows returns an unknown row for each requested measure without a deciding row in any cell.
func missingRows(rows []Row, measures []report.Measure) []Row {
	var out []Row
	for _, m := range measures {
		has := func(r Row) bool {
			return r.Decides && (r.What == m.String() || strings.HasPrefix(r.What, m.String()+" over "))
		}
		if !slices.ContainsFunc(rows, has) {
			why := fmt.Sprintf("requested, but not measured in any cell; a p90 needs %d samples per trial, a p99 %d, a p999 %d",
				metrics.Fewest("p90"), metrics.Fewest("p99"), metrics.Fewest("p999"))
			out = append(out, Row{Cell: "both runs", What: m.String(), Decides: true, Result: Unknown, Why: why})
		}
	}
	return out
}

func unitsOf(trials []report.Trial, m report.Measure) []string {
	var out []string
	for _, t := range trials {
		if x, ok := t.Metrics[m.Metric]; ok {
			out = append(out, strconv.Quote(x.Unit))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func unit(trials []report.Trial, m report.Measure) string {
	for _, t := range trials {
		if x, ok := t.Metrics[m.Metric]; ok {
			return x.Unit
		}
	}
	return "1"
}

// guaranteeRows returns a row for each guarantee or threshold whose worst result changed, and for
// each check that did not pass and on which the other rows depend.
func guaranteeRows(old, new []report.Trial) []Row {
	verdictsBefore, thresholdsBefore := worst(old)
	verdictsNow, thresholdsNow := worst(new)
	rows := slices.Concat(changedRows("verdict", verdictsBefore, verdictsNow), changedRows("threshold", thresholdsBefore, thresholdsNow))
	for i := range rows {
		rows[i].Decides, rows[i].Old, rows[i].New = true, Side{N: len(old)}, Side{N: len(new)}
	}
	return rows
}

func changedRows(kind string, before, after map[string]string) []Row {
	for name := range before {
		if after[name] == "" {
			after[name] = report.NotJudged
		}
	}
	var out []Row
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, known := before[name]
		known = known && was != report.NotPromised
		now := after[name]
		r := Row{What: kind + " " + name, Result: Unknown}
		switch {
		case kind == "verdict" && name == report.HarnessHealth && (now != report.Pass || known && was != report.Pass):
			r.Why = fmt.Sprintf("%s before, %s now: times are not valid if the machine was too slow", cmp.Or(was, "none"), now)
		case name == verdict.Readable && now == Unknown:
			r.Why = cmp.Or(was, "complete") + " before, unknown now: the missing part may be worse"
		case !known && now == report.Fail:
			r.Result, r.Why = Worse, "not checked before, fail now"
		case !known && now == Unknown:
			r.Why = "not checked before, unknown now"
		case !known || was == now:
			continue
		case now == report.Fail:
			r.Result = Worse
		case now == report.Pass:
			r.Result = Better
		}
		if r.Why == "" {
			r.Why = was + " before, " + now + " now"
		}
		out = append(out, r)
	}
	return out
}

// brokenInBoth lists the guarantees that are broken in both runs; nil for a deliberately broken subject.
func brokenInBoth(cell string, old, new []report.Trial) []string {
	before, _ := worst(old)
	after, _ := worst(new)
	if slices.ContainsFunc(new, func(t report.Trial) bool { return len(t.Expect) > 0 }) {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] == report.Fail && before[name] == report.Fail {
			out = append(out, fmt.Sprintf("broken in both runs: %s of %s", name, cell))
		}
	}
	return out
}

func worst(trials []report.Trial) (verdicts, thresholds map[string]string) {
	verdicts, thresholds = map[string]string{}, map[string]string{}
	for _, t := range trials {
		for _, v := range t.Verdicts {
			was := verdicts[v.Guarantee]
			if v.Result != report.NotJudged && (was == "" || verdict.Severity(v.Result) > verdict.Severity(was)) {
				verdicts[v.Guarantee] = v.Result
			}
		}
		for _, x := range t.Thresholds {
			thresholds[x.Expr] = verdict.Worst(cmp.Or(thresholds[x.Expr], report.Pass), x.Result)
		}
	}
	return verdicts, thresholds
}
