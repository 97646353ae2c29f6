package verdict

import (
	"fmt"
	"slices"
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
	named := namedPaths
	if out.Result != Fail && out.Result != Unknown {
		named = 1
	}
	for k, i := range paths[:min(len(paths), named)] {
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
