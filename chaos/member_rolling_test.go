package chaos

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
)

func TestMemberRolling_restartsTheLeaderLast(t *testing.T) {
	target := shared(t)
	leader, err := ensembles.Leader(t.Context(), target.Ensemble)
	must(t, err)
	e := inject(t, parse(t, "member.rolling", "", "how", "kill"), target)
	if !strings.HasSuffix(e.Target, leader.Name) || strings.Count(e.Target, "zk") != 3 {
		t.Errorf("order %s; the leader was %s", e.Target, leader.Name)
	}
	must(t, allServe(t.Context(), target.Ensemble))
}
