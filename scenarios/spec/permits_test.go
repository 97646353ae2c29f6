package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestShares_areForTheirRecipes(t *testing.T) {
	for _, row := range []struct{ subject, more, phase, want string }{
		{"semaphore/parent", "permits: 3", "kind: churn, duration: 1s", ""},
		{"lock/parent", "permits: 3", "kind: churn, duration: 1s", "permits: no subject is a semaphore"},
		{"semaphore/parent", "mix: {read: 1, write: 1}", "kind: churn, duration: 1s", "mix: no subject is a read-write lock"},
		{"rwlock/parent", "mix: {read: 9, write: 1}", "kind: churn, duration: 1s", ""},
		{"rwlock/parent", "mix: {read: -9, write: 1}", "kind: churn, duration: 1s", "mix.read: -9 is not between"},
		{"semaphore/parent", "permits: 2", "kind: failover, rounds: 1, cause: crash", "set permits to 1"},
		{"semaphore/parent", "permits: 1", "kind: failover, rounds: 1, cause: crash", ""},
	} {
		_, err := spec.Load("x", fmt.Appendf(nil, "{name: x, subjects: [%s], clients: [4], session_timeout: 4s, %s, phases: [{name: p, hold: 1ms, %s}]}", row.subject, row.more, row.phase))
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s with %s in a %s: %v, want %q", row.subject, row.more, row.phase, err, row.want)
		}
	}
}

func TestPermits_areOneForASingleHolder(t *testing.T) {
	for kind, want := range map[string]int{"churn": 2, "failover": 1} {
		s := &spec.Scenario{Phases: []spec.Phase{{Kind: kind}}}
		if got := s.PermitCount(); got != want {
			t.Errorf("%s: %d permits, want %d", kind, got, want)
		}
	}
}
