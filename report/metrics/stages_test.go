package metrics

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// The stages are the parts of the hand-off, except of one with a fault near.
func TestStages_areThePartsOfAHandoff(t *testing.T) {
	const ms = time.Millisecond
	at := func(from time.Duration) *history.Handoff {
		return &history.Handoff{Phase: "drain", Released: from, Sent: from + 1*ms, Applied: from + 4*ms, Notified: from + 6*ms, Asked: from + 7*ms, Answered: from + 12*ms, Granted: from + 14*ms}
	}
	records := []history.Record{&history.Window{Fault: "session.flap", Client: 1, Start: time.Second, End: 2 * time.Second, Proof: "seen"}}
	for i := range 20 {
		records = append(records, at(time.Duration(100*i)*ms))
	}
	slow := at(1500 * ms)
	slow.Granted += time.Second
	h := history.Of(history.Header{Recipe: "lock"}, append(records, slow)...)
	f := NewFold(h)
	for n := range h.Records {
		f.Record(n)
	}
	parts := MedianStages(f.Close())
	want := []time.Duration{1 * ms, 3 * ms, 2 * ms, 1 * ms, 5 * ms, 2 * ms}
	for i := range parts {
		parts[i] = parts[i].Round(10 * time.Microsecond)
	}
	if !slices.Equal(parts, want) {
		t.Errorf("%v, want %v", parts, want)
	}
	if got := MedianStages(map[string]Metric{}); got != nil {
		t.Errorf("without stages: %v", got)
	}
}
