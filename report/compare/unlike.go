package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
)

// Unlike returns the conditions that differ between two runs and make them incomparable. The result is
// empty if the runs can be compared.
//
// Different hosts are accepted if every subject was measured together with a base: then the comparison
// uses ratios, which eliminate the host's speed.
func Unlike(old, new report.Result) []string {
	a, b := old.Run.Ensemble, new.Run.Ensemble
	out := slices.Concat(difference("ensemble", a.Kind, b.Kind),
		difference("members", strconv.Itoa(a.Members), strconv.Itoa(b.Members)),
		difference("observers", strconv.Itoa(len(a.Observers)), strconv.Itoa(len(b.Observers))), difference("tick", a.Tick.String(), b.Tick.String()))
	if !(allHaveBase(old.Trials) && allHaveBase(new.Trials)) {
		for _, fact := range []string{"os", "arch", "cpus", "cpu"} {
			out = append(out, difference("host's "+fact, old.Run.Host[fact], new.Run.Host[fact])...)
		}
	}
	return append(out, unlikeCells(old.Trials, new.Trials)...)
}

func allHaveBase(trials []report.Trial) bool {
	return len(trials) > 0 && !slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Base == "" })
}

func unlikeCells(old, new []report.Trial) []string {
	var out []string
	olds, news := cells(old), cells(new)
	if only := onlyIn(olds, news); len(only) > 0 {
		out = append(out, "only the old run has "+strings.Join(only, "; "))
	}
	if only := onlyIn(news, olds); len(only) > 0 {
		out = append(out, "only the new run has "+strings.Join(only, "; "))
	}
	for _, k := range slices.Sorted(maps.Keys(olds)) {
		if n, both := news[k]; both {
			for _, d := range unlikeParams(olds[k].trials[0], n.trials[0]) {
				if !slices.Contains(out, d) {
					out = append(out, d)
				}
			}
		}
	}
	return out
}

func unlikeParams(old, new report.Trial) []string {
	a, b, either := map[string]string{}, map[string]string{}, map[string]string{}
	maps.Copy(a, old.Params)
	maps.Copy(b, new.Params)
	a["base"], b["base"] = old.Base, new.Base
	maps.Copy(either, a)
	maps.Copy(either, b)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(either)) {
		out = append(out, difference(k, a[k], b[k])...)
	}
	if len(out) == 0 && old.Phases != "" && new.Phases != "" && old.Phases != new.Phases {
		out = append(out, "the phases differ, for example in rounds, faults or sizes: see scenario.yaml of both runs")
	}
	return out
}

func difference(fact, before, now string) []string {
	if before == now {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s before, %s now", fact, cmp.Or(before, "none"), cmp.Or(now, "none"))}
}
