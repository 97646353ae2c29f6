package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Directions of a [Rule].
const (
	Both = "both"
	In   = "in"  // drops packets to the member
	Out  = "out" // drops packets from the member
)

// Rule selects the packets to drop in one member's network namespace. Packets on the loopback
// interface are never dropped, so the zero rule isolates a member.
type Rule struct {
	Direction string       `json:"direction,omitempty"` // empty: both
	Peers     []netip.Addr `json:"peers,omitempty"`     // only packets to and from these; empty: all
	Except    []netip.Addr `json:"except,omitempty"`    // but no packets to and from these
	Loss      float64      `json:"loss,omitempty"`      // percent of these packets, chosen by the kernel; 0: all
}

// lossSteps is the resolution of the packet filter: 0.01 percent.
const lossSteps = 10_000

// String describes the rule: "both ways, all addresses except 10.0.0.2".
func (r Rule) String() string {
	way := map[string]string{Both: "both ways", "": "both ways", In: "inbound", Out: "outbound"}[r.Direction]
	who := "all addresses"
	if len(r.Peers) > 0 {
		who = addrs(r.Peers)
	}
	if len(r.Except) > 0 {
		who += " except " + addrs(r.Except)
	}
	if r.Loss > 0 {
		who += fmt.Sprintf(", %g%% of the packets", r.Loss)
	}
	return way + ", " + who
}

func addrs(list []netip.Addr) string { return strings.Trim(fmt.Sprint(list), "[]") }

func (r Rule) check() error {
	switch r.Direction {
	case "", Both, In, Out:
	default:
		return fmt.Errorf("cut: direction %q is unknown; use %q, %q or %q", r.Direction, Both, In, Out)
	}
	if r.Loss < 0 || r.Loss > 100 || r.Loss > 0 && r.Loss*lossSteps/100 < 1 {
		return fmt.Errorf("cut: a loss of %g%% of the packets is out of range: use %g%% to 100%%", r.Loss, 100.0/lossSteps)
	}
	for _, a := range slices.Concat(r.Peers, r.Except) {
		if !a.IsValid() || a.IsUnspecified() {
			return fmt.Errorf("cut: %q is not the address of a peer", a)
		}
	}
	return nil
}
