package network

import (
	"fmt"
	"net/netip"
	"strings"
)

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
