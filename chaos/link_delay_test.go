package chaos

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestLinkDelay_slowsConnecting(t *testing.T) {
	target := cuttable(t)
	f := linkDelay{member: Follower, delay: 80 * time.Millisecond}
	e, err := f.inject(t.Context(), target)
	if errors.Is(err, ErrSkipped) {
		// Nothing may be left behind, and the next one must not be refused as a second.
		if _, again := f.inject(t.Context(), target); !errors.Is(again, ErrSkipped) || errors.Is(again, ErrNotHealed) {
			t.Errorf("again: %v", again)
		}
		t.Skip(err)
	}
	must(t, err)
	defer e.Heal(context.Background())
	t.Log(e.Proof)
	if _, err := f.inject(t.Context(), Target{Ensemble: target.Ensemble, Network: target.Network}); err == nil {
		t.Error("a second delay of the same member was accepted")
	}
	heal(t, target, e)
	after, err := roundTrip(t.Context(), hit(t, target, e))
	must(t, err)
	if after > f.delay/2 {
		t.Errorf("healed, and connecting takes %v", after)
	}
}
