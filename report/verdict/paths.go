package verdict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// closePaths returns the verdicts on the paths of the trial, one for each guarantee.
func (s *Sweep) closePaths(readErr error) (out []Verdict) {
	all := map[string][]Verdict{} // by guarantee
	for i, path := range s.paths {
		for _, v := range path.Close(readErr) {
			if all[v.Guarantee] == nil {
				all[v.Guarantee] = slices.Repeat([]Verdict{notJudged()}, len(s.paths))
			}
			all[v.Guarantee][i] = v
		}
	}
	for _, g := range registry {
		if all[g.Name] != nil {
			v := mergePaths(all[g.Name])
			v.Guarantee = g.Name
			out = append(out, v)
		}
	}
	return out
}

// worstFirst are the results in the order in which the verdict on one path decides the verdict on the trial.
var worstFirst = []string{Fail, Unknown, Pass, NotJudged, NotPromised}

// namedPaths is the number of paths that the reasons of a merged verdict name.
const namedPaths = 5

// mergePaths combines the verdicts on one guarantee, by path, into the worst of them. The reasons name their paths.
func mergePaths(all []Verdict) Verdict {
	worst, paths := len(worstFirst), []int{} // those with the worst result
	for i, v := range all {
		switch rank := slices.Index(worstFirst, v.Result); {
		case rank < worst:
			worst, paths = rank, []int{i}
		case rank == worst:
			paths = append(paths, i)
		}
	}
	out := Verdict{Result: worstFirst[worst], Reasons: []string{}, First: all[paths[0]].First}
	if out.Result != Fail && out.Result != Unknown {
		out.Reasons = sumCounts(all, paths)
		return out
	}
	for k, i := range paths[:min(len(paths), namedPaths)] {
		reasons, records := all[i].Reasons, all[i].Records
		if k > 0 { // the first reason suffices
			reasons, records = reasons[:min(len(reasons), 1)], all[i].First
		}
		for _, reason := range reasons {
			out.Reasons = append(out.Reasons, fmt.Sprintf("path %d: %s", i, reason))
		}
		out.Records = append(out.Records, records...)
	}
	if len(out.Reasons) > 0 {
		out.Reasons[0] += fmt.Sprintf(" (%d of %d paths)", len(paths), len(all))
	}
	slices.Sort(out.Records)
	out.Records = slices.Compact(out.Records)
	return out
}

// counted matches a number of things, such as "3 " in "3 grants", and one the first of them, such as "1 grant".
var (
	counted = regexp.MustCompile("(^|[ (])([\\d\u202f]+) ")
	one     = regexp.MustCompile(`(^|[ (])1 ([a-z]{2,}[a-rt-z])\b`)
)

// sumCounts returns the reasons of the paths. Those that differ only in numbers of things become one, with their sums; a
// reason of one path names it.
func sumCounts(all []Verdict, paths []int) []string {
	const sum = "\x00"
	out, sums, alone := []string{}, map[string][]int{}, map[string]string{} // by reason, with sum in place of the numbers
	for _, i := range paths {
		for _, reason := range all[i].Reasons {
			plural := one.ReplaceAllString(reason, "${1}1 ${2}s")
			counts, form := counted.FindAllStringSubmatch(plural, -1), counted.ReplaceAllString(plural, "$1"+sum+" ")
			if alone[form] = ""; sums[form] == nil {
				out, sums[form], alone[form] = append(out, form), make([]int, len(counts)), fmt.Sprintf("path %d: %s", i, reason)
			}
			for k, m := range counts {
				n, _ := strconv.Atoi(strings.ReplaceAll(m[2], "\u202f", ""))
				sums[form][k] += n
			}
		}
	}
	for i, form := range out {
		for _, n := range sums[form] {
			out[i] = strings.Replace(out[i], sum, strconv.Itoa(n), 1)
		}
		out[i] = cmp.Or(alone[form], out[i])
	}
	return out[:min(len(out), namedPaths)]
}
