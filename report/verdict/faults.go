package verdict

import (
	"cmp"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// newFaults checks [Faults]: without proof of a fault's effect, the conditions of the test are unknown.
func newFaults(in *inputs) checker {
	h := in.history
	return checker{
		finish: func(ending) Verdict {
			var unproven, inapplicable evidence
			for _, w := range h.Faults {
				// CutShort: the phase ended during a repetition of a fault that an earlier repetition had proven.
				if w.Proof != "" && w.Err == "" || w.CutShort {
					continue
				}
				into := &unproven
				if w.Inapplicable {
					into = &inapplicable
				}
				into.Add([]int{w.N}, "%s at %v (record %d): %s",
					history.DescribeFault(w.Fault, w.Target), w.Start, w.N, cmp.Or(w.Err, "there is no proof that the fault had an effect"))
			}
			switch {
			case len(h.Faults) == 0:
				return pass("no fault was injected")
			case unproven.Count == 0 && inapplicable.Count > 0:
				return inapplicable.Verdict(NotJudged, "reasons")
			case unproven.Count == 0:
				return pass()
			}
			return unproven.Verdict(Unknown, "faults without proof")
		},
	}
}

// newCompleted checks whether the trial ran to its end. Records before its end are evaluated in any
// case.
func newCompleted(*inputs) checker {
	var incomplete, inapplicable evidence
	return checker{
		record: func(n history.Numbered) {
			if u, ok := n.Record.(*history.TrialFailure); ok {
				into := &incomplete
				if u.Inapplicable {
					into = &inapplicable
				}
				into.Add([]int{n.N}, "%s (record %d, at %v)", u.Why, n.N, u.At)
			}
		},
		finish: func(ending) Verdict {
			switch {
			case incomplete.Count == 0 && inapplicable.Count > 0:
				return inapplicable.Verdict(NotJudged, "reasons")
			case incomplete.Count == 0:
				return pass()
			}
			v := incomplete.Verdict(Unknown, "reasons")
			v.Reasons = append(v.Reasons, "therefore the trial could not complete")
			return v
		},
	}
}

// grace is the time after the notification of a loss for which an act of the holder may have begun
// before it: the time between its check of the grant and the act, on a machine that stalls.
const grace = time.Second
