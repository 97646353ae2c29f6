package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/units"
)

// verdictFindings bounds how many subjects the verdict names, and how many broken guarantees
// of each.
const verdictFindings = 3

// share says of how many subjects the findings are, in a run of several. Of a trial whose
// history could not be read nobody knows the subject.
func (b builder) share(all []Finding) string {
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
	return fmt.Sprintf(", %d of %s", len(broken), units.Plural(len(subjects), "subject"))
}

// name lists findings subject by subject: what was broken, where, and under which faults. The
// reasons stand with the findings.
func name(all []Finding) string {
	var parts []string
	for _, g := range bySubject(all) {
		parts = append(parts, named(g))
	}
	return strings.Join(limited(parts), "; ")
}

// bySubject gathers the findings of each subject, in their order.
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

// named says what was broken of one subject: in one trial, or in how many.
func named(of []Finding) string {
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
		return units.List(limited(texts)) + " in " + of[0].Where + underFaults(faults)
	}
	for i, text := range texts {
		texts[i] = text + " in " + units.Plural(trials[text], of[0].trial())
	}
	if first := of[0]; first.Cell != "" {
		return fmt.Sprintf("%s of %s, the first %s", units.List(limited(texts)), units.Clean(first.Of), first.Cell)
	}
	return units.List(limited(texts)) + ", the first in " + of[0].Where
}

// limited leaves out all but the first, and says how many.
func limited(parts []string) []string {
	if more := len(parts) - verdictFindings; more > 0 {
		return append(slices.Clone(parts[:verdictFindings]), fmt.Sprintf("%d more", more))
	}
	return parts
}

// trial is what the trial is called.
func (f Finding) trial() string {
	if f.Cell != "" {
		return "cell"
	}
	return "trial"
}
