package scenarios

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// While the members elect, nobody leads, and whoever asks is answered when somebody does.
func TestMembers_leaderIsAwaited(t *testing.T) {
	m := stage.Members{Ensemble: ensemble}
	old, err := ensembles.Leader(t.Context(), ensemble)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Machine.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := old.Machine.Resume(context.Background()); err != nil {
			t.Error(err)
		}
		if err := ensembles.WaitServing(context.Background(), ensemble); err != nil {
			t.Error(err)
		}
	}()
	leader, err := m.AwaitLeader(t.Context())
	if err != nil || leader == old {
		t.Errorf("got %v, %v", leader, err)
	}
}
