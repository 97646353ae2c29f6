package html

import (
	"slices"

	"zkbench/report"
	"zkbench/report/text"
)

// formula is what is expected of one subject, in words.
type formula struct{ Subject, Of, Text string }

// formulas lists what is expected of each subject that was run, once.
func formulas(trials []report.Trial) []formula {
	var out []formula
	for _, t := range trials {
		for _, of := range text.Keys(t.Formulas) {
			f := formula{t.Subject, of, t.Formulas[of]}
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}
