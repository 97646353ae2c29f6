package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/units"
)

// verdictFindings is the largest number of subjects in the verdict sentence, and of broken
// guarantees for each.
const verdictFindings = 3

// subjectsAffected returns how many of several subjects the findings concern. It is empty if the subject
// of a trial is unknown because its history could not be read.
func (b builder) subjectsAffected(all []Finding) string {
	subjects, broken := map[string]bool{}, map[string]bool{}
	for _, t := range b.Result.Trials {
		subjects[t.Subject] = true
	}
	for _, f := range all {
		broken[f.Of] = true
	}
	if len(subjects) < 2 || subjects[""] {
		return ""
	}
	return fmt.Sprintf(" (%d of %s)", len(broken), units.Plural(len(subjects), "subject"))
}

// summarize lists findings by subject: the broken guarantees, the trials, and the active faults. The findings
// themselves have the reasons.
func summarize(all []Finding) string {
	var parts []string
	for _, g := range bySubject(all) {
		parts = append(parts, summarizeSubject(g))
	}
	return strings.Join(limitParts(parts), "; ")
}

// bySubject groups the findings by subject, and keeps their order.
func bySubject(all []Finding) (out [][]Finding) {
	subject := func(f Finding) string { return cmp.Or(f.Of, f.Where) }
	for _, f := range all {
		i := slices.IndexFunc(out, func(g []Finding) bool { return subject(g[0]) == subject(f) })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// summarizeSubject lists the broken guarantees of one subject: in one trial, or in how many.
func summarizeSubject(of []Finding) string {
	var texts, faults []string
	trials, single := map[string]int{}, true
	for _, f := range of {
		text := units.Clean(f.Text)
		if trials[text]++; trials[text] == 1 {
			texts = append(texts, text)
		}
		single = single && f.Where == of[0].Where
		for _, fault := range f.Under {
			if !slices.Contains(faults, fault) {
				faults = append(faults, fault)
			}
		}
	}
	if single {
		return units.List(limitParts(texts)) + " in " + of[0].Where + underFaults(faults)
	}
	for i, text := range texts {
		texts[i] = text + " in " + units.Plural(trials[text], of[0].trial())
	}
	if first := of[0]; first.Cell != "" {
		return fmt.Sprintf("%s: %s (first: %s)", units.Clean(first.Of), units.List(limitParts(texts)), first.Cell)
	}
	return units.List(limitParts(texts)) + ", first in " + of[0].Where
}

// limitParts keeps the first parts, and adds the number of dropped ones.
func limitParts(parts []string) []string {
	if more := len(parts) - verdictFindings; more > 0 {
		return append(slices.Clone(parts[:verdictFindings]), fmt.Sprintf("%d more", more))
	}
	return parts
}

// trial returns the noun for the finding's trial.
func (f Finding) trial() string {
	if f.Cell != "" {
		return "cell"
	}
	return "trial"
}
