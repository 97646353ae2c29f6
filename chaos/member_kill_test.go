package chaos

import (
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestMemberKill_endsTheProcessUntilItHeals(t *testing.T) {
	target := shared(t)
	e := inject(t, parse(t, "member.kill", Leader), target)
	m := hit(t, target, e)
	if connectsTo(m.Addr) {
		t.Error("somebody listens at the killed member's address")
	}
	within(t, 30*time.Second, "the others elect another leader", func() bool {
		l, err := ensembles.Leader(t.Context(), target.Ensemble)
		return err == nil && l != m
	})
	heal(t, target, e)
}

func TestMemberFaults_areSkippedWhereTheProcessIsNotOurs(t *testing.T) {
	target := shared(t)
	theirs := *target.Ensemble.Members[0]
	theirs.Machine = nil
	target.Ensemble = &ensembles.Ensemble{Members: []*ensembles.Member{&theirs}}
	for _, name := range []string{"member.kill", "member.stop", "member.pause", "member.restart"} {
		if _, err := parse(t, name, Any).Inject(t.Context(), target); !errors.Is(err, ErrSkipped) || !errors.Is(err, ensembles.ErrNotOurs) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
