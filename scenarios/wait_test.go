package scenarios

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"

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
		var s stillness
		still := false
		for range stillPolls {
			still = s.see(row.now)
		}
		if still != row.still {
			t.Errorf("%s: still %v", row.name, still)
		}
	}
}

// Every built-in scenario can be played once, and takes less for it.
func TestOnce_ofEveryBuiltinScenario(t *testing.T) {
	for _, name := range spec.Builtin() {
		t.Run(name, func(t *testing.T) {
			s := shipped(t, name)
			before, clients := len(s.Phases), s.Clients
			if err := s.Once(); err != nil {
				t.Fatal(err)
			}
			if len(s.Phases) != before || len(s.Specimens) == 0 && (len(s.Clients) != 1 || s.Clients[0] > clients[0]) {
				t.Errorf("%d phases, clients %v; want all %d, and the fewest of %v", len(s.Phases), s.Clients, before, clients)
			}
			for _, p := range s.Phases {
				if slices.ContainsFunc(p.Faults, func(f spec.Fault) bool { return !f.Essential && !p.CanOmit(f.Fault) }) {
					t.Errorf("phase %s has a fault that somebody asked for", p.Name)
				}
				if p.Rounds > 1 {
					t.Errorf("phase %s has %d rounds", p.Name, p.Rounds)
				}
			}
		})
	}
}
