package chaos

import (
	"context"
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

// The play may end while a member is ending: what was asked for takes effect all the same,
// and the member must be started again after that, not before.
func TestTakeDown_startsAgainWhatWasStillEnding(t *testing.T) {
	target := shared(t)
	v := victim{Member: target.Ensemble.Members[0]}
	for name, end := range map[string]func(context.Context) error{"member.kill": v.Machine.Kill, "member.stop": v.Machine.Stop} {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := takeDown(over, v, end); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotHealed) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, allServe(t.Context(), target.Ensemble)) // fails where the process ended afterwards
	}
}
