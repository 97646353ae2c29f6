package plot

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
)

func TestQueueDepth_showsAllThatWaits(t *testing.T) {
	if QueueDepth(Timeline{Trace: &report.Trace{}}) != nil {
		t.Error("a queue without items is drawn")
	}
	f := QueueDepth(sampleDepth())
	if f.body.Y.Max < 150 {
		t.Errorf("the axis ends at %v, and 150 items waited", f.body.Y.Max)
	}
	got := steps([]xy{{1, 2}, {3, 4}})
	if len(got) != 3 || got[1] != (xy{3, 2}) {
		t.Errorf("steps: %v; want a line that stays level until the next point", got)
	}
}

// sampleDepth invents a queue that a fault holds up for a second.
func sampleDepth() Timeline {
	d := Timeline{Trial: "queue-queue-parent-10", Label: "queue/parent", Clients: 10, Trace: &report.Trace{Queue: true,
		Faults: []report.Fault{{Fault: "partition.isolate", Target: "zk2 (leader)", Start: 3 * time.Second, End: 4 * time.Second, Proof: "seen"}}}}
	for i := range 1000 {
		p := report.DepthPoint{At: time.Duration(i) * 8 * time.Millisecond, Queued: i % 2, Due: i % 2}
		if i > 375 && i < 500 {
			p.Due = i - 350
			p.Queued = min(p.Due, 20)
		}
		d.Depth = append(d.Depth, p)
	}
	return d
}
