package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLinkRate_dropsWhatExceedsTheRate(t *testing.T) {
	target := cuttable(t)
	e := inject(t, parse(t, "link.rate", Follower, "kbit", "160"), target)
	if !strings.Contains(e.Proof, "exceeds 20000 bytes/s") {
		t.Errorf("proof %s", e.Proof)
	}
	heal(t, target, e)
}

// A rate that nobody can exceed has no effect, and must not claim one.
func TestLinkRate_hasNoEffectWhereNothingExceedsIt(t *testing.T) {
	target := cuttable(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := parse(t, "link.rate", Follower, "kbit", "3e7").Inject(ctx, target); !errors.Is(err, ErrNoEffect) || errors.Is(err, ErrNotHealed) {
		t.Errorf("got %v", err)
	}
}
