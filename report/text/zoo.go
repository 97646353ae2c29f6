package text

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// zoo says whether the scenario's trials were provoked on purpose.
func zoo(s matrix.Scenario) bool {
	return slices.ContainsFunc(s.Series, func(x matrix.Series) bool {
		return slices.ContainsFunc(x.Trials, func(t report.Trial) bool { return t.Provocation != "" })
	})
}

// zooRow is one line of the zoo's table. Sound subjects that passed share one.
type zooRow struct {
	cells  [5]string
	result string
}

var zooHead = [5]string{"subject", "provocation", "verdict that must fail", "caught", "after"}

// zooRows lists the specimens first, then what must pass, subject by subject; sound
// trials that passed are summed up.
func zooRows(trials []report.Trial, scenario string) []zooRow {
	var broken, sound []zooRow
	passed := map[string]int{}
	var order []string
	for _, t := range trials {
		switch {
		case t.Scenario != scenario || t.Provocation == "":
		case len(t.Expect) > 0:
			broken = append(broken, zooRow{[5]string{units.Clean(t.Subject), units.Clean(t.Provocation), units.Clean(strings.Join(t.Expect, ", ")), verb(t), after(t)}, TrialOutcome(t)})
		case TrialOutcome(t) == report.Pass:
			if passed[t.Subject] == 0 {
				order = append(order, t.Subject)
			}
			passed[t.Subject]++
		default:
			sound = append(sound, zooRow{[5]string{units.Clean(t.Subject), units.Clean(t.Provocation), "none: it must pass", wrong(t), ""}, TrialOutcome(t)})
		}
	}
	for _, subject := range order {
		sound = append(sound, zooRow{[5]string{units.Clean(subject), units.Plural(passed[subject], "provocation"), "none: it must pass", "passed", ""}, report.Pass})
	}
	slices.SortStableFunc(broken, func(a, b zooRow) int { return strings.Compare(a.cells[0], b.cells[0]) })
	slices.SortStableFunc(sound, func(a, b zooRow) int { return strings.Compare(a.cells[0], b.cells[0]) })
	return append(broken, sound...)
}

// overlooked says what became of the verdicts that were to catch a subject and did not.
func overlooked(t report.Trial) string {
	var parts []string
	for _, name := range t.Missed() {
		became := "was not judged"
		for _, v := range t.Verdicts {
			if v.Guarantee == name {
				became = "is " + strings.Join(append([]string{v.Result}, v.Reasons...), ": ")
			}
		}
		parts = append(parts, name+" "+became)
	}
	return strings.Join(parts, "; ")
}

func verb(t report.Trial) string {
	if missed := t.Missed(); len(missed) > 0 {
		return "NO: " + units.Clean(strings.Join(missed, ", ")) + " did not fail"
	}
	return "yes"
}

// after is how long it took until all the records were there that prove it.
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

// wrong names what a sound subject did not pass.
func wrong(t report.Trial) string {
	var parts []string
	for _, v := range t.Verdicts {
		if v.Result != report.Pass {
			parts = append(parts, units.Clean(v.Guarantee)+" "+units.Clean(v.Result))
		}
	}
	return strings.Join(parts, ", ")
}

func writeZoo(b *strings.Builder, trials []report.Trial, scenario string, term Terminal) {
	rows := zooRows(trials, scenario)
	var widths [5]int
	for i, head := range zooHead {
		widths[i] = len(head)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
		}
	}
	line := func(cells [5]string) string {
		var parts []string
		for i, c := range cells {
			parts = append(parts, pad(c, widths[i], i == 4))
		}
		return strings.TrimRight(strings.Join(parts, "  "), " ")
	}
	fmt.Fprintln(b, line(zooHead))
	for _, r := range rows {
		fmt.Fprintln(b, paint(line(r.cells), quiet(r.result), term))
	}
}

func markdownZoo(b *strings.Builder, trials []report.Trial, scenario string) {
	fmt.Fprintf(b, "| %s |\n|---|---|---|---|---:|\n", strings.Join(zooHead[:], " | "))
	for _, r := range zooRows(trials, scenario) {
		for _, c := range r.cells {
			fmt.Fprintf(b, "| %s ", units.Markdown(c))
		}
		fmt.Fprint(b, "|\n")
	}
}

// askedInZoo says what the zoo was asked.
func askedInZoo(s matrix.Scenario) string {
	specimens, sound := censusOf(s)
	return fmt.Sprintf("%s: is each of %s caught by its verdict, and do %s pass",
		units.Clean(s.Name), units.Plural(specimens.All(), "broken case"), units.Plural(sound.All(), "sound one"))
}

// foundInZoo is the census in sentences.
func foundInZoo(s matrix.Scenario) []string {
	specimens, sound := censusOf(s)
	out := []string{fmt.Sprintf("Of %s of subjects that are known to be broken %d were caught by their verdicts.", units.Plural(specimens.All(), "case"), specimens.Pass)}
	if sound.All() > 0 {
		out = append(out, fmt.Sprintf("Of %s of sound subjects %d passed every verdict.", units.Plural(sound.All(), "provocation"), sound.Pass))
	}
	return out
}

func censusOf(s matrix.Scenario) (specimens, sound report.Tally) {
	for _, x := range s.Series {
		for _, t := range x.Trials {
			if len(t.Expect) > 0 {
				specimens.Add(TrialOutcome(t))
			} else {
				sound.Add(TrialOutcome(t))
			}
		}
	}
	return specimens, sound
}
