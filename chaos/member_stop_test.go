package chaos

import (
	"testing"

	"github.com/zkbench/zkbench/ensembles"
)

func TestMemberStop_endsTheProcessUntilItHeals(t *testing.T) {
	target := shared(t)
	e := inject(t, parse(t, "member.stop", Follower), target)
	m := hit(t, target, e)
	if connectsTo(m.Addr) {
		t.Error("somebody listens at the stopped member's address")
	}
	if l, err := ensembles.Leader(t.Context(), target.Ensemble); err != nil || l == m {
		t.Errorf("stopping a follower cost the leader: %v, %v", l, err)
	}
	heal(t, target, e)
}
