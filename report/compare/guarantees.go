package compare

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/verdict"
)

// unjudged is what a guarantee is that was judged before and is not now.
const unjudged = "not judged"

// judged lists the guarantees and thresholds of which something must be said: those
// whose worst result changed, and those without which nothing else can be trusted.
func judged(old, new []report.Trial) []Row {
	rows := changed("verdict", worstByName(old, verdicts), worstByName(new, verdicts))
	rows = append(rows, changed("threshold", worstByName(old, thresholds), worstByName(new, thresholds))...)
	for i := range rows {
		rows[i].Decides, rows[i].Old, rows[i].New = true, Side{N: len(old)}, Side{N: len(new)}
	}
	return rows
}

// changed compares results by name.
func changed(kind string, before, after map[string]string) []Row {
	for name := range before {
		if after[name] == "" {
			after[name] = unjudged
		}
	}
	var out []Row
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, known := before[name]
		now := after[name]
		r := Row{What: kind + " " + name, Result: Unknown}
		switch {
		case kind == "verdict" && name == report.Fit && (notPassed(now) || known && notPassed(was)):
			r.Why = fmt.Sprintf("%s before, %s now: times of a machine that was not fit say nothing", or(was), now)
		case !known && now == report.Fail:
			r.Result, r.Why = Worse, "not judged before, fail now"
		case !known || was == now:
			continue
		case now == report.Fail:
			r.Result = Worse
		case was == report.Fail || now == report.Pass:
			r.Result = Better
		}
		if r.Why == "" {
			r.Why = was + " before, " + now + " now"
		}
		out = append(out, r)
	}
	return out
}

func notPassed(result string) bool { return result != report.Pass }

// still lists the guarantees that are broken in both: they are no regression, and must
// not be overlooked for that. What is broken on purpose is left out.
func still(cell string, old, new []report.Trial) []string {
	before, after := worstByName(old, verdicts), worstByName(new, verdicts)
	if slices.ContainsFunc(new, func(t report.Trial) bool { return len(t.Expect) > 0 }) {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] == report.Fail && before[name] == report.Fail {
			out = append(out, fmt.Sprintf("broken before and now: %s of %s", name, cell))
		}
	}
	return out
}

// worstByName returns the worst result by name over repeated trials.
func worstByName(trials []report.Trial, results func(report.Trial) map[string]string) map[string]string {
	out := map[string]string{}
	for _, t := range trials {
		for name, result := range results(t) {
			if was, ok := out[name]; !ok || verdict.Severity(result) > verdict.Severity(was) {
				out[name] = result
			}
		}
	}
	return out
}

func verdicts(t report.Trial) map[string]string {
	out := map[string]string{}
	for _, v := range t.Verdicts {
		out[v.Guarantee] = v.Result
	}
	return out
}

func thresholds(t report.Trial) map[string]string {
	out := map[string]string{}
	for _, x := range t.Thresholds {
		out[x.Expr] = x.Result
	}
	return out
}
