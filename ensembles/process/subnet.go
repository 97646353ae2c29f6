//go:build linux

package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// testNet is reserved for network benchmarks (RFC 2544): private networks and Docker do not use it.
var testNet = netip.MustParsePrefix("198.18.0.0/15")

// subnetBits leaves room for the host and 29 members.
const subnetBits = 27

// takeSubnet gives the link the subnet's first address, and removes it if another route leads
// there: checking afterwards prevents two ensembles from both taking the subnet. It returns no
// valid prefix if the subnet is taken.
func takeSubnet(link netlink.Link, subnet netip.Prefix) (netip.Prefix, error) {
	address := netlinkAddr(nth(subnet, 1))
	if err := netlink.AddrAdd(link, address); err != nil {
		return netip.Prefix{}, fmt.Errorf("giving link %s address %v: %w", link.Attrs().Name, address, err)
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("listing routes: %w", err)
	}
	for _, route := range routes {
		if route.LinkIndex == link.Attrs().Index || route.Dst == nil {
			continue
		}
		if bits, _ := route.Dst.Mask.Size(); bits == 0 {
			continue
		}
		if route.Dst.Contains(address.IP) || subnet.Contains(netip.AddrFrom4([4]byte(route.Dst.IP.To4()))) {
			return netip.Prefix{}, netlink.AddrDel(link, address)
		}
	}
	return subnet, nil
}

func randomSubnet() netip.Prefix {
	n := rand.IntN(1 << (subnetBits - testNet.Bits()))
	base := testNet.Addr().As4()
	v := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(n)<<(32-subnetBits)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), subnetBits)
}

// nth returns the nth address of the subnet, with the subnet's length.
func nth(subnet netip.Prefix, n int) netip.Prefix {
	b := subnet.Addr().As4()
	b[3] += byte(n)
	return netip.PrefixFrom(netip.AddrFrom4(b), subnet.Bits())
}

func netlinkAddr(p netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}}
}
