package verdict

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// newFaults judges rule 12: a fault without proof of its effect was perhaps no
// fault, and what the subject endured is then unknown.
func newFaults(h *history.History) checker {
	return checker{
		name:    Faults,
		applies: func() bool { return len(h.Faults) > 0 },
		finish: func(time.Duration) Verdict {
			var bare evidence
			for _, w := range h.Faults {
				if w.Proof != "" && w.Err == "" {
					continue
				}
				bare.add(func() string {
					why := w.Err
					if why == "" {
						why = "nothing proves its effect"
					}
					return fmt.Sprintf("%s on %s at %v (record %d): %s", w.Fault, w.Target, w.Start, w.N, why)
				}, w.N)
			}
			if bare.count == 0 {
				return pass()
			}
			v := bare.fail("faults without proof")
			v.Result = Unknown
			return v
		},
	}
}
