package metrics

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// OperationsFailed names the operations that failed with no fault active.
const OperationsFailed = "operations.failed"

func init() {
	register(Family{
		Order: 54,
		Definitions: []Definition{
			{Name: OperationsFailed, Unit: "1", Better: Lower,
				Help: "Acquires, releases, puts and takes that returned an error with no fault active or recently healed, in phases in which clients set the pace; without those that zkbench canceled and timed tries"},
		},
		collect: collectFailed,
	})
}

// collectFailed counts operations by their outcome. Count is the number of all operations, the note
// quotes the first error.
func collectFailed(f *Fold) collector {
	var failed, all int64
	first := ""
	faults := verdict.FaultWindows(f.history, verdict.MaxDetection(f.history))
	return collector{
		sample: func(s *history.Sample, p *history.Phase) {
			switch s.Op {
			case history.Acquire, history.Release, history.Put, history.Take:
			default:
				return
			}
			if !paced(p) { // the phase itself ends sessions
				return
			}
			all++
			canceled := s.Limit > 0 || s.Err == "" || strings.Contains(s.Err, "context canceled") || strings.Contains(s.Err, "context deadline exceeded")
			if s.Outcome == history.OK || canceled || faults.Touches(s.Call, s.Return) {
				return
			}
			failed++
			if first == "" {
				first = fmt.Sprintf("client %d at %s: %s", s.Client, units.Moment(s.Return), units.Short(s.Err, 200))
			}
		},
		close: func(out map[string]Metric) {
			if all > 0 {
				out[OperationsFailed] = Metric{Unit: "1", Value: new(float64(failed)), Count: &all, Note: first}
			}
		},
	}
}
