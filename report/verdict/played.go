package verdict

import "github.com/zkbench/zkbench/report/history"

const Played = "played"

func init() {
	register(Guarantee{
		Name: Played, Rule: 12, Concerns: anyRecipe,
		Promise: "The trial was played to its end.",
		Harm:    "What was not played was not tested.",
		Help:    "a trial that could not be played, or not to its end; it is unknown",
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
			v.Reasons = append(v.Reasons, "so the trial could not be played to its end")
			return v
		},
	}
}
