package chaos

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestLinkDelay_slowsConnecting(t *testing.T) {
	target := cuttable(t)
	f := parse(t, "link.delay", Follower, "delay", "80ms")
	e, err := f.Inject(t.Context(), target)
	if errors.Is(err, ErrSkipped) {
		// Nothing may be left behind, and the next one must not be refused as a second.
		if _, again := f.Inject(t.Context(), target); !errors.Is(again, ErrSkipped) || errors.Is(again, ErrNotHealed) {
			t.Errorf("again: %v", again)
		}
		t.Skip(err)
	}
	must(t, err)
	defer e.Heal(context.Background())
	t.Log(e.Proof)
	if _, err := f.Inject(t.Context(), Target{Ensemble: target.Ensemble, Network: target.Network}); err == nil {
		t.Error("a second delay of the same member was accepted")
	}
	heal(t, target, e)
	m := hit(t, target, e)
	within(t, 20*time.Second, "healed, connecting takes less than half of the delay", func() bool {
		after, err := roundTrip(t.Context(), m)
		return err == nil && after < 40*time.Millisecond
	})
}
