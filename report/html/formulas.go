package html

import (
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/text"
)

// formula is what is expected of one subject, in words.
type formula struct{ Subject, Of, Text string }

// formulas lists what is expected of each subject that was run, once, in whatever
// cells it was.
func formulas(trials []report.Trial) []formula {
	var out []formula
	for _, s := range matrix.Of(trials) {
		for _, x := range s.Series {
			for _, t := range x.Trials {
				for _, of := range text.Keys(t.Formulas) {
					if f := (formula{t.Subject, of, t.Formulas[of]}); !slices.Contains(out, f) {
						out = append(out, f)
					}
				}
			}
		}
	}
	return out
}
