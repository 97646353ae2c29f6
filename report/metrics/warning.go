package metrics

import (
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// WarningLatency names how fast an early warning is.
const WarningLatency = "warning.latency"

func init() {
	register(Family{
		Order: 25, About: "What an observer of an election sees, in a succession with early warnings:",
		Definitions: []Definition{{Name: WarningLatency, Unit: "ns", Better: Lower, Distribution: true, PerPhase: true,
			Help: "Time from the removal of a candidate, which leaves too few, to the observer's early warning"}},
		collect: func(f *Fold) collector {
			var stand int
			left := map[int]time.Duration{} // when a candidate was made to leave, by the number that remained
			return collector{record: func(r history.Record) {
				switch r := r.(type) {
				case *history.Joined:
					stand++
				case *history.Leaving:
					if r.Client < 0 {
						stand = 0
						clear(left)
						return
					}
					stand--
					left[stand] = r.At
				case *history.Warning:
					if at, ok := left[r.Below-1]; ok {
						f.observe(WarningLatency, r.Phase, r.At-at)
					}
				}
			}}
		},
	})
}
