package chaos

import (
	"context"
	"errors"
	"net/netip"
	"slices"
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
func TestLink_namesTheClientsThatItServes(t *testing.T) {
	target := cuttable(t)
	l := connect(t, target, 6, 10*time.Second)
	e := inject(t, parse(t, "link.loss", Follower), l.Target)
	m := hit(t, target, e)
	var want []int
	for _, c := range l.Clients {
		if c.Session().Server == m.Addr {
			want = append(want, c.Number())
		}
	}
	if !slices.Equal(e.ServedClients, want) {
		t.Errorf("%s serves %v, want %v", m.Name, e.ServedClients, want)
	}
	heal(t, target, e)
}
