package chaos

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestMemberPause_keepsTheSocketsOpen(t *testing.T) {
	target := shared(t)
	e := inject(t, parse(t, "member.pause", Follower), target)
	m := hit(t, target, e)
	if !connectsTo(m.Addr) {
		t.Error("a frozen member's kernel accepts connections, and this one does not")
	}
	if reachable(t.Context(), m, 100*time.Millisecond) {
		t.Error("it answers")
	}
	heal(t, target, e)
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
