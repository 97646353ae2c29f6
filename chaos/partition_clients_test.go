package chaos

import (
	"testing"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionClients_leavesTheEnsembleWhole(t *testing.T) {
	target := cuttable(t)
	before, err := ensembles.Leader(t.Context(), target.Ensemble)
	must(t, err)
	e := inject(t, parse(t, "partition.clients", Leader), target)
	m := hit(t, target, e)
	if connectsTo(m.Addr) {
		t.Error("clients reach it")
	}
	for _, s := range ensembles.Status(t.Context(), target.Ensemble) {
		if s.Member != m && s.Server.Mode != ensembles.ModeFollower {
			t.Errorf("%s: the ensemble is not whole: %s, %v", s.Member.Name, s.Server.Mode, s.Err)
		}
	}
	heal(t, target, e)
	if now, err := ensembles.Leader(t.Context(), target.Ensemble); err != nil || now != before {
		t.Errorf("the leader changed: %v, %v", now, err)
	}
}
