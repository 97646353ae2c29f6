package verdict

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// closePaths returns the verdicts on the paths of the trial, one for each guarantee.
func (s *Sweep) closePaths(readErr error) (out []Verdict) {
	byGuarantee := map[string][]Verdict{}
	var names []string
	for i, path := range s.paths {
		for _, v := range path.Close(readErr) {
			all := byGuarantee[v.Guarantee]
			if v.Guarantee == Readable {
				continue // it is about the whole history
			}
			if all == nil {
				names = append(names, v.Guarantee)
				all = slices.Repeat([]Verdict{notJudged()}, len(s.paths))
			}
			all[i], byGuarantee[v.Guarantee] = v, all
		}
	}
	for _, name := range names {
		v := mergePaths(byGuarantee[name])
		v.Guarantee = name
		out = append(out, v)
	}
	return out
}

// worstFirst are the results in the order in which the verdict on one path decides the verdict on the trial.
var worstFirst = []string{Fail, Unknown, Pass, NotJudged, NotPromised}

// namedPaths is the number of paths that the reasons of a merged verdict name.
const namedPaths = 5

// mergePaths combines the verdicts on one guarantee, by path, into the worst of them. The reasons name their paths.
func mergePaths(all []Verdict) Verdict {
	rank := func(v Verdict) int { return slices.Index(worstFirst, v.Result) }
	out := Verdict{Result: slices.MinFunc(all, func(a, b Verdict) int { return rank(a) - rank(b) }).Result, Reasons: []string{}}
	var paths []int // with this result
	for i, v := range all {
		if v.Result == out.Result {
			paths = append(paths, i)
		}
	}
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
	out.Records, out.First = slices.Compact(out.Records), all[paths[0]].First
	return out
}

// counted matches a number of things: "3 grants", "of 5 grants".
var counted = regexp.MustCompile("(^|[ (])(\\d[\\d\u202f]*)( [a-z]+)")

// sumCounts returns the reasons of the paths. Reasons that differ only in numbers of things become one, with the sums of
// these numbers; a reason of a single path names it.
func sumCounts(all []Verdict, paths []int) []string {
	const sum = "\x00"
	out, sums, times := []string{}, map[string][]int{}, map[string]int{} // by reason, with sum in place of the numbers
	first := map[string]string{}
	for _, i := range paths {
		for _, reason := range all[i].Reasons {
			var counts []int
			form := counted.ReplaceAllStringFunc(reason, func(match string) string {
				m := counted.FindStringSubmatch(match)
				n, _ := strconv.Atoi(strings.ReplaceAll(m[2], "\u202f", ""))
				counts = append(counts, n)
				if n == 1 && m[3] != " of" && !strings.HasSuffix(m[3], "s") { // as in the plural
					m[3] += "s"
				}
				return m[1] + sum + m[3]
			})
			if times[form]++; times[form] == 1 {
				out, sums[form], first[form] = append(out, form), make([]int, len(counts)), fmt.Sprintf("path %d: %s", i, reason)
			}
			for k, n := range counts {
				sums[form][k] += n
			}
		}
	}
	for i, form := range out {
		if times[form] == 1 {
			out[i] = first[form]
			continue
		}
		for _, n := range sums[form] {
			out[i] = strings.Replace(out[i], sum, strconv.Itoa(n), 1)
		}
	}
	return out[:min(len(out), namedPaths)]
}
