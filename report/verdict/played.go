package verdict

import "github.com/zkbench/zkbench/report/history"

const Played = "completed"

func init() {
	register(Guarantee{
		Name: Played, Rule: 12, Concerns: anyRecipe,
		Promise: "The trial ran to completion.",
		Harm:    "Parts of the scenario were not tested.",
		Help:    "a trial that could not start or complete; its result is unknown",
		check:   newPlayed,
	})
}

// newPlayed checks whether the trial ran to its end. Records before its end are evaluated in any
// case.
func newPlayed(*inputs) checker {
	var cut, not evidence
	return checker{
		record: func(n history.Numbered) {
			if u, ok := n.Record.(*history.Unplayed); ok {
				of := &cut
				if u.Inapplicable {
					of = &not
				}
				of.add([]int{n.N}, "%s (record %d, at %v)", u.Why, n.N, u.At)
			}
		},
		finish: func(ending) Verdict {
			switch {
			case cut.count == 0 && not.count > 0:
				return not.inapplicable()
			case cut.count == 0:
				return pass()
			}
			v := cut.doubt("reasons")
			v.Reasons = append(v.Reasons, "so the trial could not complete")
			return v
		},
	}
}
