package verdict

import (
	"cmp"

	"github.com/zkbench/zkbench/report/history"
)

const Faults = "fault-proof"

func init() {
	register(Guarantee{
		Name: Faults, Rule: 12, Concerns: anyRecipe,
		Promise: "Every fault that was injected has shown its effect, and was healed.",
		Harm:    "The conditions of the test are unknown.",
		Help:    "a fault that could not be proven; the trial is unknown",
		check:   newFaults,
	})
}

// newFaults checks rule 12: without proof of a fault's effect it is unknown what the subject was
// tested with.
func newFaults(in *inputs) checker {
	h := in.history
	return checker{
		finish: func(ending) Verdict {
			var bare, not evidence
			for _, w := range h.Faults {
				if w.Proof != "" && w.Err == "" || w.CutShort { // its kind was proven before
					continue
				}
				of := &bare
				if w.Inapplicable {
					of = &not
				}
				of.add([]int{w.N}, "%s at %v (record %d): %s",
					history.Struck(w.Fault, w.Target), w.Start, w.N, cmp.Or(w.Err, "nothing proves its effect"))
			}
			switch {
			case len(h.Faults) == 0:
				return pass("no fault was injected")
			case bare.count == 0 && not.count > 0:
				return not.inapplicable()
			case bare.count == 0:
				return pass()
			}
			return bare.doubt("faults without proof")
		},
	}
}
