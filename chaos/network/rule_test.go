package network

import (
	"net/netip"
	"testing"
)

func TestPacketRule_saysWhatItDrops(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::2")
	for _, row := range []struct {
		rule Rule
		want string
	}{
		{Rule{}, "both ways, all addresses"},
		{Rule{Direction: In, Peers: []netip.Addr{a, b}}, "inbound, 10.0.0.1 fd00::2"},
		{Rule{Direction: Out, Except: []netip.Addr{a}}, "outbound, all addresses except 10.0.0.1"},
		{Rule{Loss: 2.5}, "both ways, all addresses, 2.5% of the packets"},
	} {
		if got := row.rule.String(); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}
