package chaos

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
)

// A cut that drops only some packets is lifted when it drops none.
func TestCutSome_isRemovedWhenItDropsNothing(t *testing.T) {
	target := cuttable(t)
	v, err := pickMember(t.Context(), target, Follower)
	must(t, err)
	// Nobody speaks to the member from this address, which is set aside for texts.
	stranger := network.Rule{Peers: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, Loss: 50}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err = dropShare(stranger)(ctx, target, v); !errors.Is(err, ErrNoEffect) || errors.Is(err, ErrNotHealed) {
		t.Errorf("got %v", err)
	}
}

// Clients of a member with a bad link are slow to learn, and a verdict must know whose.
func TestLinkLoss_losesPacketsThatTCPRepairs(t *testing.T) {
	l := connect(t, cuttable(t), 6, 10*time.Second)
	e := inject(t, parse(t, "link.loss", Follower, "percent", "30"), l.Target)
	m := hit(t, l.Target, e)
	if !strings.Contains(e.Proof, "30% of the packets") {
		t.Errorf("proof %s", e.Proof)
	}
	var want []int
	for _, c := range l.Clients {
		if c.Session().Server == m.Addr {
			want = append(want, c.Number())
		}
	}
	if !slices.Equal(e.ServedClients, want) {
		t.Errorf("%s serves %v, want %v", m.Name, e.ServedClients, want)
	}
	within(t, 20*time.Second, "an answer gets through", func() bool { return reachable(t.Context(), m, 2*time.Second) })
	heal(t, l.Target, e)
}

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
