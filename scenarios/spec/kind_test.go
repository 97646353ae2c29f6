package spec_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestKind_suitsOnlyRecipesThatCanDoIt(t *testing.T) {
	queue := recipes.Subject{Name: "zoo/queue-x", Recipe: recipes.RecipeQueue}
	barrier := recipes.Subject{Name: "barrier/mine", Recipe: recipes.RecipeBarrier}
	for _, k := range spec.Kinds {
		if err := k.CheckSupports(queue); (err != nil) != strings.Contains("failover succession", k.Name) {
			t.Errorf("a queue in a %s: %v", k.Name, err)
		}
		// A barrier runs where all enter.
		err := k.CheckSupports(barrier)
		meets := strings.Contains("churn connect drain episode", k.Name)
		if meets != (err == nil) || err != nil && !strings.Contains(err.Error(), "it runs in phases of kind ") {
			t.Errorf("a barrier in a %s: %v", k.Name, err)
		}
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

func TestPermits_areOneForASingleHolder(t *testing.T) {
	for kind, want := range map[string]int{"churn": 2, "failover": 1} {
		s := &spec.Scenario{Phases: []spec.Phase{{Kind: kind}}}
		if got := s.PermitCount(); got != want {
			t.Errorf("%s: %d permits, want %d", kind, got, want)
		}
	}
}
