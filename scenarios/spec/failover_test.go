package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestFailover_refusesWhatMakesNoSense(t *testing.T) {
	for _, row := range []struct{ name, phase, want string }{
		{"a cause and rounds are all it needs", "cause: crash, rounds: 3", ""},
		{"no rounds leave it out", "cause: leader.kill, rounds: 0", ""},
		{"the cause must be one", "cause: crush, rounds: 3", `did you mean "crash"`},
		{"the cause is the fault", "cause: crash, rounds: 1, faults: [{at: 0s, fault: session.close}]", "a failover phase cannot have faults"},
		{"rounds end it, not a time", "cause: crash, rounds: 1, duration: 3s", "set rounds"},
		{"rounds are not negative", "cause: crash, rounds: -1", "-1 is not between 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := spec.Load("x", fmt.Appendf(nil, "{name: x, subjects: [lock/parent], clients: [4], session_timeout: 4s, phases: [{name: p, kind: failover, hold: 1ms, %s}]}", row.phase))
			switch {
			case row.want == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}

func TestPhase_memberFaultsAreThoseOfItsKindToo(t *testing.T) {
	for _, row := range []struct {
		name  string
		phase spec.Phase
		want  string
	}{
		{"a crash touches no member", spec.Phase{Kind: "failover", Cause: "crash", Rounds: 1}, ""},
		{"a killed leader is one", spec.Phase{Kind: "failover", Cause: "leader.kill", Rounds: 1}, "member.kill"},
		{"a phase without rounds touches nobody", spec.Phase{Kind: "failover", Cause: "leader.kill"}, ""},
		{"a churn has those that it plans", spec.Phase{Kind: "churn", Faults: []spec.Fault{{Fault: "session.close"}, {Fault: "partition.split"}}}, "partition.split"},
	} {
		if got := strings.Join(row.phase.MemberFaults(), " "); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
