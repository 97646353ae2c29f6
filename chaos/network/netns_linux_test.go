package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

var namespaces atomic.Int32

// namespace is a network namespace that is joined to the test's own by one cable.
type namespace struct {
	name      string     // it is /run/netns/NAME
	here      netip.Addr // our end of the cable
	there, v6 netip.Addr // its end
	hereV6    netip.Addr
	fd        netns.NsHandle
}

// newNamespace makes a namespace and its cable, and removes both after the test.
func newNamespace(t testing.TB) *namespace {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making a network namespace needs root")
	}
	n := int(namespaces.Add(1))
	// The process id keeps parallel test processes apart.
	block := byte(os.Getpid() % 250)
	ns := &namespace{
		name:   fmt.Sprintf("zkbench-t%d-%d", os.Getpid(), n),
		here:   netip.AddrFrom4([4]byte{10, 213, block, byte(4*n + 1)}),
		there:  netip.AddrFrom4([4]byte{10, 213, block, byte(4*n + 2)}),
		hereV6: netip.MustParseAddr(fmt.Sprintf("fd7a:%x:%x::1", block, n)),
		v6:     netip.MustParseAddr(fmt.Sprintf("fd7a:%x:%x::2", block, n)),
	}
	inLockedThread(t, func() (err error) {
		ns.fd, err = netns.NewNamed(ns.name) // and enters it
		return err
	})
	t.Cleanup(func() { ns.fd.Close(); netns.DeleteNamed(ns.name) })
	ns.wire(t, n)
	// The kernel carries packets over a new cable some time after it is up.
	for _, end := range []netip.Addr{ns.there, ns.v6} {
		within(t, 5*time.Second, "packets reach "+end.String(), func() bool { return answers(end.String()) })
	}
	return ns
}

func (ns *namespace) wire(t testing.TB, n int) {
	t.Helper()
	near, far := fmt.Sprintf("zt%d-%d", os.Getpid()%1e6, n), "eth0"
	must(t, netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: near}, PeerName: far, PeerNamespace: netlink.NsFd(ns.fd),
	}))
	cable, err := netlink.LinkByName(near)
	must(t, err)
	t.Cleanup(func() { netlink.LinkDel(cable) })
	must(t, addAddr(&netlink.Handle{}, cable, ns.here, ns.hereV6))
	h, err := netlink.NewHandleAt(ns.fd)
	must(t, err)
	defer h.Close()
	eth, err := h.LinkByName(far)
	must(t, err)
	must(t, addAddr(h, eth, ns.there, ns.v6))
	lo, err := h.LinkByName("lo")
	must(t, err)
	must(t, h.LinkSetUp(lo))
}

func addAddr(h *netlink.Handle, l netlink.Link, v4, v6 netip.Addr) error {
	for _, a := range []struct {
		addr netip.Addr
		bits int
	}{{v4, 30}, {v6, 64}} {
		ip := &net.IPNet{IP: a.addr.AsSlice(), Mask: net.CIDRMask(a.bits, a.addr.BitLen())}
		// Without duplicate address detection the address is usable at once.
		if err := h.AddrAdd(l, &netlink.Addr{IPNet: ip, Flags: 0x02}); err != nil {
			return fmt.Errorf("add %s: %w", ip, err)
		}
	}
	return h.LinkSetUp(l)
}

// listen opens a TCP listener inside the namespace.
func (ns *namespace) listen(t testing.TB, addr netip.Addr) net.Listener {
	t.Helper()
	var l net.Listener
	ns.inside(t, func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
		return err
	})
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l
}

// echo returns a function that sends datagrams to the namespace, and returns how many
// came back.
func (ns *namespace) echo(t testing.TB) func(n int) int {
	t.Helper()
	var there net.PacketConn
	ns.inside(t, func() (err error) {
		there, err = net.ListenPacket("udp", netip.AddrPortFrom(ns.there, 0).String())
		return err
	})
	done := make(chan struct{})
	t.Cleanup(func() { there.Close(); <-done })
	go func() {
		defer close(done)
		b := make([]byte, 20)
		for {
			n, from, err := there.ReadFrom(b)
			if err != nil {
				return
			}
			there.WriteTo(b[:n], from)
		}
	}()
	return func(n int) int {
		c, err := net.Dial("udp", there.LocalAddr().String())
		must(t, err)
		defer c.Close()
		got, b := 0, make([]byte, 20)
		for range n {
			c.Write(b)
			// One at a time: no socket buffer runs over, so what is missing was dropped.
			c.SetReadDeadline(time.Now().Add(3 * time.Millisecond))
			if _, err := c.Read(b); err == nil {
				got++
			}
		}
		c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		for { // those that were late
			if _, err := c.Read(b); err != nil {
				return got
			}
			got++
		}
	}
}

// inside runs f in a thread that is in the namespace.
func (ns *namespace) inside(t testing.TB, f func() error) {
	t.Helper()
	inLockedThread(t, func() error {
		if err := netns.Set(ns.fd); err != nil {
			return err
		}
		return f()
	})
}

// inLockedThread runs f, which may change its thread's namespace, and returns the thread to its own.
func inLockedThread(t testing.TB, f func() error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	must(t, err)
	defer home.Close()
	err = f()
	must(t, netns.Set(home))
	must(t, err)
}

// answers reports whether the kernel behind the address answers: a connection to
// a port where nobody listens is refused when packets get through, and times out
// when they do not.
func answers(ip string) bool {
	c, err := net.DialTimeout("tcp", netip.AddrPortFrom(netip.MustParseAddr(ip), 7).String(), 150*time.Millisecond)
	if err == nil {
		c.Close()
		return true
	}
	var timeout net.Error
	return !(errors.As(err, &timeout) && timeout.Timeout())
}
