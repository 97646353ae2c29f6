package chaos

import (
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionPeers_costsTheMemberItsQuorum(t *testing.T) {
	target := cuttable(t)
	e := inject(t, parse(t, "partition.peers", Leader), target)
	m := hit(t, target, e)
	if !connectsTo(m.Addr) {
		t.Error("clients do not reach it")
	}
	within(t, 30*time.Second, "it loses its quorum", func() bool {
		return !ensembles.Status(t.Context(), target.Ensemble)[m.ID-1].Serves()
	})
	heal(t, target, e)
}

func TestPartitionPeers_needsPeers(t *testing.T) {
	target := cuttable(t)
	target.Ensemble = &ensembles.Ensemble{Members: target.Ensemble.Members[:1]}
	if _, err := parse(t, "partition.peers", Any).Inject(t.Context(), target); !errors.Is(err, ErrSkipped) {
		t.Errorf("got %v", err)
	}
}
