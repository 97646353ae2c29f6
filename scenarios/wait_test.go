package scenarios

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

// Every built-in scenario can be played once, and takes less for it.
func TestOnce_ofEveryBuiltinScenario(t *testing.T) {
	for _, name := range spec.Builtin() {
		t.Run(name, func(t *testing.T) {
			s := shipped(t, name)
			before, clients := len(s.Phases), s.Clients
			if err := s.Reduce(); err != nil {
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
