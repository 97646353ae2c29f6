package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zkbench/report"
	"zkbench/report/matrix"
	"zkbench/report/units"
)

// Answer is what a run was asked and what it found, in sentences. It is computed
// from the data alone and fits any scenario.
type Answer struct {
	Asked   string
	Result  string // report.Pass, Fail or Unknown
	Verdict string
	Found   []string
	Doubts  []string // what weakens the answer
}

// Answers says what the run found.
func Answers(r report.Result) Answer {
	a := Answer{Asked: asked(r), Result: Outcome(r)}
	a.Verdict = verdict(r, a.Result)
	for _, s := range matrix.Of(r.Trials) {
		a.Found = append(a.Found, found(s, compared(r, s.Name))...)
	}
	for _, c := range r.Comparisons {
		a.Found = append(a.Found, beside(c))
	}
	a.Doubts = doubts(r)
	return a
}

func asked(r report.Result) string {
	var parts []string
	for _, s := range matrix.Of(r.Trials) {
		if zoo(s) {
			parts = append(parts, askedInZoo(s))
			continue
		}
		if s.Name == "" {
			parts = append(parts, "histories that cannot be opened")
			continue
		}
		var subjects, counts []string
		for _, x := range s.Series {
			subjects = append(subjects, x.Label)
		}
		for _, n := range s.Counts {
			counts = append(counts, strconv.Itoa(n))
		}
		noun := "contenders"
		if len(counts) == 1 && counts[0] == "1" {
			noun = "contender"
		}
		parts = append(parts, fmt.Sprintf("%s: %s with %s %s", units.Clean(s.Name), list(subjects), list(counts), noun))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("Scenario %s: no trial was run.", units.Clean(r.Run.Scenario))
	}
	return strings.Join(parts, "; ") + ensemble(r.Run.Ensemble) + "."
}

func ensemble(e report.Ensemble) string {
	if e.Kind == "" {
		return ""
	}
	return fmt.Sprintf(", against %s (%s ensemble)", units.Plural(e.Members, "member"), units.Clean(e.Kind))
}

// verdictFindings bounds how many broken guarantees the opening sentence names.
const verdictFindings = 3

func verdict(r report.Result, result string) string {
	verdicts, thresholds := Tallies(r.Trials)
	switch result {
	case report.Pass:
		s := "Passed: " + allOf(verdicts.Pass, "verdict")
		if verdicts.Pass == 1 && thresholds.Pass == 0 {
			return s + " holds."
		}
		if thresholds.Pass > 0 {
			s += " and " + allOf(thresholds.Pass, "threshold")
		}
		return s + " hold."
	case report.Fail:
		return "Failed: " + name(findings(r.Trials, true)) + "."
	}
	open := findings(r.Trials, false)
	if len(open) == 0 {
		return "Could not be judged: " + list(doubtWords(r)) + "."
	}
	return fmt.Sprintf("Could not be judged: %s.", name(open))
}

func allOf(n int, noun string) string {
	if n == 1 {
		return "the one " + noun
	}
	return "all " + units.Plural(n, noun)
}

// name lists findings by what was broken: the first trial with its reason, and
// how many trials more.
func name(all []finding) string {
	var first []finding
	trials := map[string]int{}
	for _, f := range all {
		if trials[f.what] == 0 {
			first = append(first, f)
		}
		trials[f.what]++
	}
	var parts []string
	for i, f := range first {
		if i == verdictFindings {
			parts = append(parts, fmt.Sprintf("%d more", len(first)-i))
			break
		}
		s := fmt.Sprintf("%s in %s", units.Clean(f.what), where(f.trial))
		if more := trials[f.what] - 1; more > 0 {
			s += " and " + units.Plural(more, "more trial")
		}
		if reason := units.Times(units.Clean(f.reason)); reason != "" {
			s += " (" + units.Short(reason, 160) + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

func doubtWords(r report.Result) []string {
	var out []string
	if r.Run.Ended != "" {
		out = append(out, "the run ended early ("+units.Clean(r.Run.Ended)+")")
	}
	if len(r.Trials) == 0 {
		out = append(out, "no trial was run")
	}
	skipped, without := 0, 0
	for _, t := range r.Trials {
		s := skippedFaults(t)
		skipped, without = skipped+s, without+unproven(t)-s
	}
	if skipped > 0 {
		out = append(out, units.Plural(skipped, "fault")+" could not be injected here and "+was(skipped)+" skipped")
	}
	if without > 0 {
		out = append(out, units.Plural(without, "fault")+" had no proven effect")
	}
	return out
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func doubts(r report.Result) []string {
	out := doubtWords(r)
	if n, why := unfit(r.Trials); n > 0 {
		out = append(out, fmt.Sprintf("%s unfit, so that the numbers may say more about the machine than about the recipe (%s)", trialsWere(n), why))
	}
	if open := findings(r.Trials, false); len(open) > 0 && Outcome(r) == report.Fail {
		out = append(out, units.Plural(len(open), "result")+" could not be judged")
	}
	for i := range out {
		out[i] = sentence(out[i])
	}
	return out
}

// unfit counts the trials in which the harness was not fit to measure, with the
// first reason.
func unfit(trials []report.Trial) (n int, why string) {
	for _, f := range findings(trials, false) {
		if f.what == report.Fit {
			if n == 0 {
				why = where(f.trial) + ": " + units.Clean(f.reason)
			}
			n++
		}
	}
	return n, why
}

func trialsWere(n int) string { return units.Plural(n, "trial") + " " + was(n) }

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// list joins with commas and a last "and".
func list(parts []string) string {
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

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
		out = append(out, calmAndStorm(x)...)
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
		if p99, ok := matrix.Median(trials, p99Of("handoff.latency")); ok {
			s += ", p99 " + units.Duration(p99)
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
		slices.SortStableFunc(have, func(a, b ranked) int { return int(sign(a.p50 - b.p50)) })
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

// compared says whether subjects of the scenario took turns: then their neighbouring
// trials say more than the medians of all.
func compared(r report.Result, scenario string) bool {
	return slices.ContainsFunc(r.Comparisons, func(c report.Comparison) bool { return c.Scenario == scenario })
}

// beside is one sentence about a subject that took turns with a base.
func beside(c report.Comparison) string {
	return fmt.Sprintf("At %s, trial by trial, %s of %s is %s.", units.Plural(c.Clients, "contender"), c.Metric, units.Clean(c.Subject), c)
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

func sign(v float64) float64 {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

func p50Of(metric string) func(report.Trial) *float64 {
	return func(t report.Trial) *float64 { return t.Metrics[metric].P50 }
}

func p99Of(metric string) func(report.Trial) *float64 {
	return func(t report.Trial) *float64 {
		m := t.Metrics[metric]
		if m.Count == nil || *m.Count < 100 { // it would only be the maximum
			return nil
		}
		return m.P99
	}
}

func valueOf(metric string) func(report.Trial) *float64 {
	return func(t report.Trial) *float64 { return t.Metrics[metric].Value }
}

func expectedOf(metric string) func(report.Trial) *float64 {
	return func(t report.Trial) *float64 { return t.Metrics[metric].Expected }
}
