package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// found says in sentences what one scenario showed, at the largest client count
// that all its series share.
func found(s matrix.Scenario, compared bool) []string {
	if zoo(s) {
		return foundInZoo(s)
	}
	n := s.Common()
	var out []string
	for _, x := range s.Series {
		for _, line := range []string{series(x, n), flap(x, n), yield(x, n)} {
			if line != "" {
				out = append(out, line)
			}
		}
	}
	if line := compare(s, n); line != "" && !compared {
		out = append(out, line)
	}
	for _, x := range s.Series {
		if line := calmAndStorm(x, n); line != "" {
			out = append(out, line)
		}
		out = append(out, afterFaults(x)...)
		out = append(out, failovers(x)...)
	}
	return out
}

// series is one sentence about one series.
func series(x matrix.Series, clients int) string {
	trials := x.At(clients)
	var says []string
	if p50, ok := matrix.Median(trials, p50Of("handoff.latency")); ok {
		s := fmt.Sprintf("takes %s (p50", units.Duration(p50))
		if p99 := p99Of("handoff.latency")(matrix.Merge(trials)); p99 != nil { // as in the table
			s += ", p99 " + units.Duration(*p99)
		}
		says = append(says, s+")")
	}
	if v, ok := matrix.Median(trials, valueOf("fanout.notifications")); ok {
		s := "causes " + units.Number(v) + " notifications"
		if v == 1 {
			s = "causes 1 notification"
		}
		if e, ok := matrix.Median(trials, expectedOf("fanout.notifications")); ok {
			s += " (formula " + units.Number(e) + ")"
		}
		says = append(says, s)
	}
	if len(says) > 0 {
		return fmt.Sprintf("At %s, one hand-off of %s %s.", units.Plural(clients, "contender"), x.Label, list(says))
	}
	for _, m := range Latencies {
		if p50, ok := matrix.Median(trials, p50Of(m.Name)); ok && m.Name != "handoff.latency" {
			return fmt.Sprintf("At %s, %s of %s takes %s (p50).", units.Plural(clients, "contender"), m.Noun, x.Label, units.Duration(p50))
		}
	}
	return ""
}

// compare sets the fastest series against the slowest, by the first latency that
// at least two series have.
func compare(s matrix.Scenario, clients int) string {
	for _, m := range Latencies {
		var have []ranked
		for _, x := range s.Series {
			if v, ok := matrix.Median(x.At(clients), p50Of(m.Name)); ok && v > 0 {
				have = append(have, ranked{x, v})
			}
		}
		if len(have) < 2 {
			continue
		}
		slices.SortStableFunc(have, func(a, b ranked) int { return cmp.Compare(a.p50, b.p50) })
		fast, slow := have[0], have[len(have)-1]
		if ratio := slow.p50 / fast.p50; ratio >= 1.2 {
			return fmt.Sprintf("%s of %s is %s faster than that of %s%s.", sentenceCase(m.Noun), fast.Label, units.Ratio(ratio), slow.Label, parting(s, m.Name, fast, slow))
		}
		return fmt.Sprintf("%s differs by less than a fifth between %s and %s.", sentenceCase(m.Noun), fast.Label, slow.Label)
	}
	return ""
}

type ranked struct {
	matrix.Series
	p50 float64
}

// parting says from which count on the slower takes at least twice as long, when
// that is not from the smallest on.
func parting(s matrix.Scenario, metric string, fast, slow ranked) string {
	from, first := -1, -1
	for _, n := range s.Counts {
		a, okA := matrix.Median(fast.At(n), p50Of(metric))
		b, okB := matrix.Median(slow.At(n), p50Of(metric))
		if !okA || !okB || a <= 0 {
			continue
		}
		if first < 0 {
			first = n
		}
		if b < 2*a {
			from = -1
		} else if from < 0 {
			from = n
		}
	}
	if from <= first {
		return ""
	}
	return fmt.Sprintf("; from %s on %s takes at least twice as long", units.Plural(from, "contender"), slow.Label)
}

// afterFaults says how long recovery took, over all client counts of a series.
func afterFaults(x matrix.Series) []string {
	var out []string
	for _, m := range []struct{ name, words, noun string }{
		{"failover.latency", "After a fault, the next grant of %s came %s later (p50), at worst %s, over %s.", "failover"},
		{"leaderless.time", "%s was without a leader for %s (p50), at worst %s, over %s.", "spell"},
	} {
		var worst, count float64
		for _, t := range x.Trials {
			if d := t.Metrics[m.name]; d.Max != nil && d.Count != nil {
				worst, count = max(worst, *d.Max), count+float64(*d.Count)
			}
		}
		if p50, ok := matrix.Median(x.Trials, p50Of(m.name)); ok && count > 0 {
			out = append(out, fmt.Sprintf(m.words, x.Label, units.Duration(p50), units.Duration(worst), units.Plural(int(count), m.noun)))
		}
	}
	if longest := longestOverlap(x); longest > 0 {
		out = append(out, fmt.Sprintf("In %s two clients believed at once that they held, for up to %s; the verdicts say whether that is a violation.", x.Label, units.Duration(longest)))
	}
	return out
}

func longestOverlap(x matrix.Series) float64 {
	longest := 0.0
	for _, t := range x.Trials {
		for _, v := range []*float64{t.Metrics["belief.overlap"].Max, t.Metrics["belief.overlap"].Value} {
			if v != nil {
				longest = max(longest, *v)
			}
		}
	}
	return longest
}

func sentenceCase(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
