package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
)

// Unlike returns why two runs cannot be compared: a difference would say something
// about what they ran on, not about what they ran. Empty where they can.
//
// Another host is forgiven where every subject was measured beside a base: then
// ratios are compared, and the host's speed falls out of them.
func Unlike(old, new report.Result) []string {
	var out []string
	differ := func(what string, a, b any) {
		if before, now := fmt.Sprint(a), fmt.Sprint(b); before != now {
			out = append(out, fmt.Sprintf("%s: %s before, %s now", what, or(before), or(now)))
		}
	}
	a, b := old.Run.Ensemble, new.Run.Ensemble
	differ("ensemble", a.Kind, b.Kind)
	differ("members", a.Members, b.Members)
	differ("tick", a.Tick, b.Tick)
	if !(based(old.Trials) && based(new.Trials)) {
		for _, fact := range []string{"os", "arch", "cpus", "cpu"} {
			differ("host's "+fact, old.Run.Host[fact], new.Run.Host[fact])
		}
	}
	return append(out, unlikeCells(old.Trials, new.Trials)...)
}

// based says whether all trials have a base beside them.
func based(trials []report.Trial) bool {
	return len(trials) > 0 && !slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Base == "" })
}

func unlikeCells(old, new []report.Trial) []string {
	var out []string
	olds, news := cells(old), cells(new)
	for _, side := range []struct {
		who        string
		some, rest map[string]cell
	}{{"old", olds, news}, {"new", news, olds}} {
		var only []string
		for _, k := range slices.Sorted(maps.Keys(side.some)) {
			if _, both := side.rest[k]; !both {
				only = append(only, side.some[k].name)
			}
		}
		if len(only) > 0 {
			out = append(out, fmt.Sprintf("only the %s run has %s", side.who, strings.Join(only, "; ")))
		}
	}
	params := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(olds)) {
		n, both := news[k]
		if !both {
			continue
		}
		for _, d := range unlikeParams(olds[k].trials[0], n.trials[0]) {
			if !params[d] {
				params[d] = true
				out = append(out, d)
			}
		}
	}
	return out
}

func unlikeParams(old, new report.Trial) []string {
	a, b := map[string]string{}, map[string]string{}
	maps.Copy(a, old.Params)
	maps.Copy(b, new.Params)
	a["base"], b["base"] = old.Base, new.Base
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var out []string
	for _, k := range keys {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s: %s before, %s now", k, or(a[k]), or(b[k])))
		}
	}
	return out
}

func or(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
