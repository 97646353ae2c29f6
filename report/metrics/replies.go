package metrics

import (
	"fmt"

	"github.com/zkbench/zkbench/report/history"
)

// RepliesSettled names the lost replies of which it is known whether their requests were
// carried out.
const RepliesSettled = "replies.settled"

func init() {
	register(Family{
		Order: 72,
		Definitions: []Definition{
			{Name: RepliesSettled, Unit: "1",
				Help: "of the requests that change something and whose reply was lost (expected), those of which the members' transaction logs say whether they were carried out"},
		},
		collect: collectReplies,
	})
}

// request is a client's request, by its session and number.
type request struct {
	session int64
	cxid    int32
}

// collectReplies looks for each in the commits. One that is not there was not carried out,
// if they are whole.
func collectReplies(f *Fold) collector {
	open := map[request]bool{}
	for _, l := range f.history.Lost {
		open[request{l.Session, l.Cxid}] = true
	}
	lost, whole := len(open), false
	return collector{
		record: func(r history.Record) {
			switch c := r.(type) {
			case *history.Commit:
				delete(open, request{c.Session, c.Cxid})
			case *history.CommitsEnd:
				whole = c.Whole()
			}
		},
		close: func(out map[string]Metric) {
			if lost == 0 {
				return
			}
			carried := lost - len(open)
			settled := carried
			if whole {
				settled = lost
			}
			out[RepliesSettled] = Metric{
				Unit: "1", Value: new(float64(settled)), Expected: new(float64(lost)),
				Note: fmt.Sprintf("%d were carried out", carried),
			}
		},
	}
}
