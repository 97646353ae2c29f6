package chaos

import (
	"context"
	"errors"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
)

func TestMemberRestart_returnsWhenTheMemberServes(t *testing.T) {
	target := shared(t)
	for _, how := range []string{"stop", "kill"} {
		t.Run(how, func(t *testing.T) {
			e := inject(t, parse(t, "member.restart", "zk2", "how", how), target)
			if e.Target != "zk2" || e.Undo != nil {
				t.Errorf("effect %+v", e)
			}
			must(t, serves(t.Context(), target.Ensemble.Members[1]))
		})
	}
	must(t, allServe(t.Context(), target.Ensemble))
}

// Who interrupts a restart finds the member up.
func TestMemberRestart_leavesTheMemberUpWhenInterrupted(t *testing.T) {
	target := shared(t)
	m := *target.Ensemble.Members[0]
	ctx, cancel := context.WithCancel(t.Context())
	m.Machine = interrupted{m.Machine, cancel}
	target.Ensemble = &ensembles.Ensemble{Members: []*ensembles.Member{&m}}
	if _, err := parse(t, "member.restart", m.Name, "how", "kill").Inject(ctx, target); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotHealed) {
		t.Errorf("got %v", err)
	}
	if up, err := m.Machine.Running(t.Context()); err != nil || !up {
		t.Errorf("left running: %v, %v", up, err)
	}
	must(t, serves(t.Context(), &m))
}

// interrupted is a real member whose test cancels its context once it was killed.
type interrupted struct {
	ensembles.Machine
	cancel context.CancelFunc
}

func (i interrupted) Kill(ctx context.Context) error {
	defer i.cancel()
	return i.Machine.Kill(ctx)
}
