package plot

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

// sampleDeliveries invents a queue of which a fault holds up the items.
func sampleDeliveries() Timeline {
	t := Timeline{Trial: "queue-queue-predecessor-10", Label: "queue/predecessor", Clients: 10, Trace: &report.Trace{Queue: true,
		Faults: []report.Fault{{Fault: "session.close", Target: "client 3", Start: 6 * time.Second, End: 7 * time.Second, Proof: "seen"}}}}
	for i := range 500 {
		due := time.Duration(i) * 20 * time.Millisecond
		wait := 2*time.Millisecond + time.Duration(i*7919%1000)*time.Microsecond
		if due > 6*time.Second && due < 7*time.Second {
			wait += 7*time.Second - due
		}
		t.Handoffs = append(t.Handoffs, metrics.Handoff{At: due + wait, Latency: wait})
	}
	return t
}

func TestOverTime_ofAQueueSpeaksOfItems(t *testing.T) {
	f := OverTime(sampleDeliveries(), NewGlyphs(nil))
	if f == nil {
		t.Fatal("no plot of a queue's deliveries")
	}
	if f.Title != "Delivery latency over time: queue/predecessor, 10 consumers" || f.yTitle != "delivery latency (log scale)" {
		t.Errorf("title %q, axis %q", f.Title, f.yTitle)
	}
	if got := legendText(f); got != "item (500); fault active" {
		t.Errorf("the legend says %q", got)
	}
	if !strings.Contains(f.About, "from the time at which it was due") {
		t.Errorf("about: %s", f.About)
	}
}
