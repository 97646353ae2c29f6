package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// isZoo reports whether the scenario has trials with a provocation.
func isZoo(s matrix.Scenario) bool {
	return slices.ContainsFunc(s.Series, func(x matrix.Series) bool {
		return slices.ContainsFunc(x.Trials, func(t report.Trial) bool { return t.Provocation != "" })
	})
}

// zooTable lists the deliberately broken subjects first, then the subjects that must pass.
// Trials of the latter that passed are summarized.
func zooTable(trials []report.Trial) Table {
	var broken, sound []Row
	passed := map[string]int{}
	for _, t := range trials {
		result := t.Outcome()
		row := func(cells ...string) Row {
			return Row{Result: result, Cells: append([]string{units.Clean(t.Subject), units.Clean(t.Provocation)}, cells...)}
		}
		switch {
		case t.Provocation == "":
		case len(t.Expect) > 0:
			broken = append(broken, row(units.Clean(strings.Join(t.Expect, ", ")), caughtText(t), after(t)))
		case result == report.Pass:
			passed[t.Subject]++
		default:
			sound = append(sound, row(mustPass, notPassed(t), ""))
		}
	}
	for subject, n := range passed {
		sound = append(sound, Row{Result: report.Pass, Cells: []string{units.Clean(subject), units.Plural(n, "provocation"), mustPass, "passed", ""}})
	}
	bySubject := func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Cells[0], b.Cells[0]), cmp.Compare(rank(b.Result), rank(a.Result)))
	}
	slices.SortStableFunc(broken, func(a, b Row) int { return cmp.Compare(a.Cells[0], b.Cells[0]) })
	slices.SortStableFunc(sound, bySubject)
	return Table{Rows: append(broken, sound...), Columns: []Column{
		{Head: "subject"}, {Head: "provocation"}, {Head: "verdict that must fail"}, {Head: "caught", Kind: Status}, {Head: "after", Kind: Number}}}
}

const mustPass = "none: it must pass"

// rank orders results: worse results have a higher rank.
func rank(result string) int { return verdict.Severity(result) }

// caughtText returns whether the subject's defect was detected.
func caughtText(t report.Trial) string {
	if missed := t.Missed(); len(missed) > 0 {
		return "NO: " + units.Clean(strings.Join(missed, ", ")) + " did not fail"
	}
	return "yes"
}

// after returns the time until the last record that proves the violation.
func after(t report.Trial) string {
	var longest time.Duration
	for _, v := range t.Verdicts {
		if slices.Contains(t.Expect, v.Guarantee) && v.Result == report.Fail {
			longest = max(longest, v.After)
		}
	}
	if longest == 0 {
		return ""
	}
	return fmt.Sprintf("%.1fs", longest.Seconds())
}

// notPassed lists the guarantees that a correct subject did not pass.
func notPassed(t report.Trial) string {
	var parts []string
	for _, v := range t.Verdicts {
		if v.Result != report.Pass && verdict.Counts(v.Result) {
			parts = append(parts, units.Clean(v.Guarantee+" "+v.Result))
		}
	}
	return strings.Join(parts, ", ")
}

func describeZoo(s matrix.Scenario) string {
	specimens, sound := countZoo(s)
	var parts []string
	if specimens.All() > 0 {
		parts = append(parts, "is each of "+units.Plural(specimens.All(), "broken case")+" caught by its verdict")
	}
	if sound.All() > 0 {
		parts = append(parts, "do "+units.Plural(sound.All(), "correct one")+" pass")
	}
	return units.Clean(s.Name) + ": " + strings.Join(parts, ", and ")
}

func zooHeadlines(s matrix.Scenario) []Headline {
	specimens, sound := countZoo(s)
	count := func(title string, n report.Tally) Headline {
		return Headline{Title: title, Tabled: true, Values: []Value{{Text: fmt.Sprintf("%d of %d", n.Pass, n.All())}}}
	}
	out := []Headline{count("broken cases that were caught", specimens)}
	if sound.All() > 0 {
		out = append(out, count("correct cases that passed", sound))
	}
	return out
}

func zooSummary(s matrix.Scenario) []string {
	specimens, sound := countZoo(s)
	var out []string
	if specimens.All() > 0 {
		out = append(out, fmt.Sprintf("Of %s of deliberately broken subjects, %d %s caught by %s.",
			units.Plural(specimens.All(), "case"), specimens.Pass, wasOrWere(specimens.Pass), theirVerdicts(specimens.Pass)))
	}
	if sound.All() > 0 {
		out = append(out, fmt.Sprintf("Of %s of correct subjects, %d passed every verdict.", units.Plural(sound.All(), "provocation"), sound.Pass))
	}
	return out
}

func theirVerdicts(n int) string {
	if n == 1 {
		return "its verdict"
	}
	return "their verdicts"
}

// countZoo counts the trials of deliberately broken subjects, and the others.
func countZoo(s matrix.Scenario) (specimens, sound report.Tally) {
	for _, x := range s.Series {
		for _, t := range x.Trials {
			if len(t.Expect) > 0 {
				specimens.Add(t.Outcome())
			} else {
				sound.Add(t.Outcome())
			}
		}
	}
	return specimens, sound
}
