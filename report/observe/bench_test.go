package observe

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkTracker is of lines of ten nodes: an event is a creation or a deletion.
func BenchmarkTracker(b *testing.B) {
	t, at, n := NewTracker("/locks", Limits{MaxExpired: -1}), time.Unix(1_000_000, 0), 0
	name := func(i int) string { return fmt.Sprintf("/locks/%d/_c_0123456789abcdef-lock-%010d", i%100, i/100) }
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(time.Millisecond)
		t.Create(name(n), int64(n%10), at)
		if n >= 1000 {
			t.Delete(name(n-1000), Released, int64((n-1000)%10), at)
		}
		n++
	}
	if o := t.Done(at, ""); len(o.Lines) == 0 || o.Lines[0].Nodes == 0 {
		b.Fatal("nothing was observed")
	}
	b.ReportMetric(2*float64(n)/b.Elapsed().Seconds(), "events/s")
}
