package chaos

import (
	"errors"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionLeader_lastsUntilAnotherLeads(t *testing.T) {
	target := cuttable(t)
	before, err := ensembles.Leader(t.Context(), target.Ensemble)
	must(t, err)
	e := inject(t, parse(t, "partition.leader", ""), target)
	if hit(t, target, e) != before || !strings.Contains(e.Proof, " leads now") {
		t.Errorf("the leader was %s; effect %+v", before.Name, e)
	}
	if now, err := ensembles.Leader(t.Context(), target.Ensemble); err != nil || now == before {
		t.Errorf("%v leads, %v", now, err)
	}
	heal(t, target, e)
	if now, err := ensembles.Leader(t.Context(), target.Ensemble); err != nil || now == before {
		t.Errorf("the old leader came back as the leader: %v, %v", now, err)
	}
}

func TestPartitionLeader_needsThreeMembers(t *testing.T) {
	target := cuttable(t)
	target.Ensemble = &ensembles.Ensemble{Members: target.Ensemble.Members[:2]}
	if _, err := parse(t, "partition.leader", "").Inject(t.Context(), target); !errors.Is(err, ErrSkipped) {
		t.Errorf("got %v", err)
	}
}
