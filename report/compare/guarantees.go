package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/verdict"
)

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
		case kind == "verdict" && name == report.Fit && (now != report.Pass || known && was != report.Pass):
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

// brokenInBoth lists the guarantees that are broken in both runs, which is not a regression. It returns
// nil for a deliberately broken subject.
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
