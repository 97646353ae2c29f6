package agents

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// bridge connects the hosts, in a network namespace that exists as long as its handle is open.
type bridge struct {
	net    *netlink.Handle
	index  int
	subnet netip.Prefix
}

var bridges atomic.Int32

// newBridge creates a bridge, and a link from this machine with the first address of its subnet.
func newBridge(t testing.TB) *bridge {
	t.Helper()
	space := newNamespace(t)
	h, err := netlink.NewHandleAt(space)
	must(t, err)
	t.Cleanup(h.Close)
	device := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "bridge"}}
	must(t, h.LinkAdd(device))
	must(t, h.LinkSetUp(device))
	b := &bridge{net: h, index: device.Index}

	name := fmt.Sprintf("zkh%d-%d", os.Getpid()%1e6, bridges.Add(1))
	must(t, netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: "uplink", PeerNamespace: netlink.NsFd(space),
	}))
	here, err := netlink.LinkByName(name)
	must(t, err)
	t.Cleanup(func() { _ = netlink.LinkDel(here) })
	uplink, err := h.LinkByName("uplink")
	must(t, err)
	must(t, h.LinkSetMasterByIndex(uplink, b.index))
	must(t, h.LinkSetUp(uplink))
	must(t, netlink.LinkSetUp(here))
	b.take(t, here)
	return b
}

// newNamespace creates an unnamed network namespace.
func newNamespace(t testing.TB) (space netns.NsHandle) {
	t.Helper()
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine may run in the new namespace
		var err error
		space, err = netns.New()
		made <- err
	}()
	must(t, <-made)
	t.Cleanup(func() { _ = space.Close() })
	return space
}

// take gives our link the first address of an unused subnet.
func (b *bridge) take(t testing.TB, here netlink.Link) {
	t.Helper()
	for range 20 {
		b.subnet = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 214, byte(rand.IntN(256)), 0}), 24)
		routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
		must(t, err)
		if !taken(b.subnet, routes) {
			must(t, netlink.AddrAdd(here, b.address(b.nth(1))))
			return
		}
	}
	t.Fatal("no subnet in 10.214.0.0/16 is free")
}

// taken reports whether a route other than the default leads into a subnet.
func taken(subnet netip.Prefix, routes []netlink.Route) bool {
	for _, r := range routes {
		if r.Dst == nil {
			continue
		}
		bits, _ := r.Dst.Mask.Size()
		to, ok := netip.AddrFromSlice(r.Dst.IP)
		if ok && bits > 0 && netip.PrefixFrom(to.Unmap(), bits).Overlaps(subnet) {
			return true
		}
	}
	return false
}

func (b *bridge) nth(n int) netip.Addr {
	a := b.subnet.Addr().As4()
	a[3] = byte(n)
	return netip.AddrFrom4(a)
}

func (b *bridge) address(a netip.Addr) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(b.subnet.Bits(), 32)}}
}

// connect gives the network namespace of a process an address on the bridge.
func (b *bridge) connect(t testing.TB, name string, pid int, address netip.Addr) (port netlink.Link) {
	t.Helper()
	port = &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: name, MasterIndex: b.index}, PeerName: "eth0", PeerNamespace: netlink.NsPid(pid),
	}
	must(t, b.net.LinkAdd(port))
	must(t, b.net.LinkSetUp(port))
	space, err := netns.GetFromPid(pid)
	must(t, err)
	defer space.Close()
	h, err := netlink.NewHandleAt(space)
	must(t, err)
	defer h.Close()
	lo, err := h.LinkByName("lo")
	must(t, err)
	must(t, h.LinkSetUp(lo))
	eth, err := h.LinkByName("eth0")
	must(t, err)
	must(t, h.AddrAdd(eth, b.address(address)))
	must(t, h.LinkSetUp(eth))
	return port
}
