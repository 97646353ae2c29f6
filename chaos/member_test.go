package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestAct_undoesWhatItCannotProve(t *testing.T) {
	broken := errors.New("broken")
	ok := func(context.Context) error { return nil }
	bad := func(context.Context) error { return broken }
	for _, row := range []struct {
		name   string
		do     func(context.Context) error
		proof  error
		undo   func(context.Context) error
		undone bool
		want   error
	}{
		{"done and proven, it stays", ok, nil, ok, false, nil},
		{"not proven, it is undone", ok, ErrNoEffect, ok, true, ErrNoEffect},
		{"not done, it is undone", bad, nil, ok, true, broken},
		{"not undone, it says so", bad, nil, bad, true, ErrNotHealed},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			undone := false
			err := injectAndProve(ctx, func(ctx context.Context) error { defer cancel(); return row.do(ctx) },
				func() error { return row.proof },
				func(ctx context.Context) error {
					if ctx.Err() != nil {
						t.Error("the undoing was cancelled too")
					}
					undone = true
					return row.undo(ctx)
				})
			if undone != row.undone || !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
				t.Errorf("undone %v, %v", undone, err)
			}
		})
	}
}

// The play may end while a member is ending: what was asked for takes effect all the same,
// and the member must be started again after that, not before.
func TestTakeDown_startsAgainWhatWasStillEnding(t *testing.T) {
	target := shared(t)
	v := targetMember{Member: target.Ensemble.Members[0]}
	for name, end := range map[string]func(context.Context) error{"member.kill": v.Machine.Kill, "member.stop": v.Machine.Stop} {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := takeDown(over, v, end); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotHealed) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, allServe(t.Context(), target.Ensemble)) // fails where the process ended afterwards
	}
}

func TestMemberRestart_returnsWhenTheMemberServes(t *testing.T) {
	target := shared(t)
	e := inject(t, parse(t, "member.restart", "zk2"), target)
	if e.Target != "zk2" || e.Undo != nil {
		t.Errorf("effect %+v", e)
	}
	must(t, awaitServing(t.Context(), target.Ensemble.Members[1]))
	must(t, allServe(t.Context(), target.Ensemble))
}

// Who interrupts a restart finds the member up.
func TestMemberRestart_leavesTheMemberUpWhenInterrupted(t *testing.T) {
	target := shared(t)
	m := *target.Ensemble.Members[0]
	ctx, cancel := context.WithCancel(t.Context())
	m.Machine = interrupted{m.Machine, cancel}
	target.Ensemble = &ensembles.Ensemble{Members: []*ensembles.Member{&m}}
	if _, err := parse(t, "member.restart", m.Name).Inject(ctx, target); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotHealed) {
		t.Errorf("got %v", err)
	}
	if up, err := m.Machine.Running(t.Context()); err != nil || !up {
		t.Errorf("left running: %v, %v", up, err)
	}
	must(t, awaitServing(t.Context(), &m))
}

// interrupted is a real member whose test cancels its context once it was stopped.
type interrupted struct {
	ensembles.Machine
	cancel context.CancelFunc
}

func (i interrupted) Stop(ctx context.Context) error {
	defer i.cancel()
	return i.Machine.Stop(ctx)
}

// A member that never answered cannot prove by its silence that it was frozen.
func TestMemberPause_needsAnAnswerFirst(t *testing.T) {
	target := shared(t)
	m := target.Ensemble.Members[0]
	deaf := *m
	deaf.Addr = "127.0.0.1:1"
	target.Ensemble = &ensembles.Ensemble{Members: []*ensembles.Member{&deaf}}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := parse(t, "member.pause", m.Name).Inject(ctx, target); !errors.Is(err, ErrNoEffect) {
		t.Errorf("got %v", err)
	}
	if !reachable(t.Context(), m, 20*time.Second) {
		t.Error("the member was left frozen")
	}
}

func TestMemberRolling_restartsTheLeaderLast(t *testing.T) {
	target := shared(t)
	leader, err := ensembles.Leader(t.Context(), target.Ensemble)
	must(t, err)
	e := inject(t, parse(t, "member.rolling", ""), target)
	if !strings.HasSuffix(e.Target, leader.Name) || strings.Count(e.Target, "zk") != 3 {
		t.Errorf("order %s; the leader was %s", e.Target, leader.Name)
	}
	must(t, allServe(t.Context(), target.Ensemble))
}
