package stage

import (
	"testing"

	"github.com/zkbench/zkbench/chaos/wire"
)

// A line comes to rest while somebody pings, and not while somebody asks.
func TestStillness(t *testing.T) {
	for _, row := range []struct {
		name  string
		now   wire.Counts
		still bool
	}{
		{"nothing is under way", wire.Counts{}, true},
		{"pings are", wire.Counts{InFlight: 2, Pinging: 2}, true},
		{"a request is, beside a ping", wire.Counts{InFlight: 2, Pinging: 1}, false},
	} {
		var s IdleDetector
		still := false
		for range IdlePolls {
			still = s.Observe(row.now)
		}
		if still != row.still {
			t.Errorf("%s: still %v", row.name, still)
		}
	}
}
