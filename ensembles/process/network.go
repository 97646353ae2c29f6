//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/zkbench/zkbench/ensembles/state"
)

// Every member stands in a network namespace of its own. They meet on a bridge
// that has a namespace too, and so does not pass through this host's firewall:
// Docker drops what it did not bridge itself. Clients on this host reach them by
// one more link:
//
//	host: zkbID ──── zkbench-ID-net: uplink ─ bridge ─ zk1 ──── zkbench-ID-zk1: eth0
//	                                                 └ zk2 ──── zkbench-ID-zk2: eth0
//
// Deleting the namespaces deletes all of it.

// runNetNS is where named namespaces are mounted, as ip-netns(8) does it.
const runNetNS = "/run/netns"

// testNet is set aside for benchmarks of networks (RFC 2544): no private network
// and no Docker network is there.
var testNet = netip.MustParsePrefix("198.18.0.0/15")

// subnetBits leaves each ensemble room for the host and 29 members.
const subnetBits = 27

// The ports of members that need not share their address with anybody.
var ownPorts = [3]int{2181, 2888, 3888}

// planNetwork names what setUpNetwork is going to make, so that it can be written
// down before it exists.
func planNetwork(r *state.Record) {
	r.Links = []string{"zkb" + r.ID}
	r.Namespaces = []string{"zkbench-" + r.ID + "-net"}
	for i := range r.Members {
		name := "zkbench-" + r.ID + "-" + r.Members[i].Name
		r.Namespaces = append(r.Namespaces, name)
		r.Members[i].NetNS = filepath.Join(runNetNS, name)
		r.Members[i].Ports = ownPorts
	}
}

// unplanNetwork takes planNetwork back.
func unplanNetwork(r *state.Record) {
	r.Links, r.Namespaces = nil, nil
	for i := range r.Members {
		r.Members[i].NetNS, r.Members[i].Ports, r.Members[i].IP = "", [3]int{}, ""
	}
}

// setUpNetwork makes the planned network, gives each member its address, and
// proves that everybody reaches every member. On an error it leaves nothing.
func setUpNetwork(ctx context.Context, r *state.Record) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, tearDownNetwork(r))
		}
	}()
	var handles []netns.NsHandle
	defer func() {
		for _, h := range handles {
			h.Close()
		}
	}()
	for _, name := range r.Namespaces {
		h, err := newNamespace(name)
		if err != nil {
			return err
		}
		handles = append(handles, h)
	}
	subnet, err := linkHost(r.Links[0], handles[0])
	if err != nil {
		return err
	}
	if err := linkMembers(r, subnet, handles[0], handles[1:]); err != nil {
		return err
	}
	return probe(ctx, r)
}

// newNamespace makes a named network namespace and returns a handle to it.
func newNamespace(name string) (netns.NsHandle, error) {
	type answer struct {
		handle netns.NsHandle
		err    error
	}
	answers := make(chan answer)
	go func() {
		runtime.LockOSThread() // and never unlocked: NewNamed leaves the thread in the new namespace
		handle, err := netns.NewNamed(name)
		answers <- answer{handle, err}
	}()
	a := <-answers
	if a.err != nil {
		return netns.None(), fmt.Errorf("making network namespace %s: %w", name, a.err)
	}
	return a.handle, nil
}

// linkHost joins this host and the namespace of the bridge by a veth pair, and
// gives the host's end the first address of a subnet that nobody else has.
func linkHost(name string, bridge netns.NsHandle) (netip.Prefix, error) {
	veth := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: name},
		PeerName:      "uplink",
		PeerNamespace: netlink.NsFd(bridge),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return netip.Prefix{}, fmt.Errorf("making link %s: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("finding link %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return netip.Prefix{}, fmt.Errorf("setting link %s up: %w", name, err)
	}
	const tries = 20
	for range tries {
		subnet, err := takeSubnet(link, randomSubnet())
		if err != nil || subnet.IsValid() {
			return subnet, err
		}
	}
	return netip.Prefix{}, fmt.Errorf("no free subnet in %v after %d tries (zkbench ensemble down removes what crashed runs left)", testNet, tries)
}

// takeSubnet gives the link the subnet's first address, and takes it back where
// another route leads there. Looking afterwards leaves no gap in which two
// ensembles could both find the subnet free. No valid prefix means: taken.
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
			continue // the default route leads everywhere
		}
		if route.Dst.Contains(address.IP) || subnet.Contains(netip.AddrFrom4([4]byte(route.Dst.IP.To4()))) {
			return netip.Prefix{}, netlink.AddrDel(link, address)
		}
	}
	return subnet, nil
}

// linkMembers makes the bridge in its namespace and ties the uplink and every member to it.
func linkMembers(r *state.Record, subnet netip.Prefix, middle netns.NsHandle, ends []netns.NsHandle) error {
	net, err := netlink.NewHandleAt(middle)
	if err != nil {
		return fmt.Errorf("entering %s: %w", r.Namespaces[0], err)
	}
	defer net.Close()
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "bridge"}}
	if err := net.LinkAdd(bridge); err != nil {
		return fmt.Errorf("making the bridge: %w", err)
	}
	uplink, err := net.LinkByName("uplink")
	if err != nil {
		return fmt.Errorf("finding the uplink: %w", err)
	}
	if err := errors.Join(net.LinkSetMaster(uplink, bridge), net.LinkSetUp(uplink), net.LinkSetUp(bridge)); err != nil {
		return fmt.Errorf("setting the bridge up: %w", err)
	}
	for i := range r.Members {
		m := &r.Members[i]
		address := nth(subnet, i+2)
		m.IP = address.Addr().String()
		veth := &netlink.Veth{
			LinkAttrs:     netlink.LinkAttrs{Name: m.Name, MasterIndex: bridge.Index},
			PeerName:      "eth0",
			PeerNamespace: netlink.NsFd(ends[i]),
		}
		if err := net.LinkAdd(veth); err != nil {
			return fmt.Errorf("making the link of %s: %w", m.Name, err)
		}
		if err := net.LinkSetUp(veth); err != nil {
			return fmt.Errorf("setting the link of %s up: %w", m.Name, err)
		}
		if err := setUpEnd(ends[i], address); err != nil {
			return fmt.Errorf("setting up the network of %s: %w", m.Name, err)
		}
	}
	return nil
}

// setUpEnd sets up loopback and eth0 in a member's namespace.
func setUpEnd(end netns.NsHandle, address netip.Prefix) error {
	net, err := netlink.NewHandleAt(end)
	if err != nil {
		return err
	}
	defer net.Close()
	for _, name := range []string{"lo", "eth0"} {
		link, err := net.LinkByName(name)
		if err != nil {
			return fmt.Errorf("finding %s: %w", name, err)
		}
		if name == "eth0" {
			if err := net.AddrAdd(link, netlinkAddr(address)); err != nil {
				return fmt.Errorf("giving it address %v: %w", address, err)
			}
		}
		if err := net.LinkSetUp(link); err != nil {
			return fmt.Errorf("setting %s up: %w", name, err)
		}
	}
	return nil
}

// probe proves that this host and every member reach every member.
func probe(ctx context.Context, r *state.Record) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	const port = 2181 // that no member has opened yet
	for _, m := range r.Members {
		to := net.JoinHostPort(m.IP, strconv.Itoa(port))
		listener, err := listenIn(m.NetNS, to)
		if err != nil {
			return fmt.Errorf("probing the network of %s: %w", m.Name, err)
		}
		defer listener.Close()
		if err := dialIn(ctx, "", to); err != nil {
			return fmt.Errorf("this host does not reach %s (does a firewall drop it?): %w", m.Name, err)
		}
		for _, from := range r.Members {
			if err := dialIn(ctx, from.NetNS, to); err != nil {
				return fmt.Errorf("%s does not reach %s: %w", from.Name, m.Name, err)
			}
		}
	}
	return nil
}

func listenIn(path, address string) (l net.Listener, err error) {
	err = onThread(path, func() error {
		l, err = net.Listen("tcp4", address)
		return err
	})
	return l, err
}

func dialIn(ctx context.Context, path, address string) error {
	return onThread(path, func() error {
		// One address and no name: the socket is made on this thread, in its namespace.
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// onThread calls do on a thread that is in the namespace; in ours when path is empty.
func onThread(path string, do func() error) error {
	if path == "" {
		return do()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return inNetNS(path, do)
}

// tearDownNetwork removes what setUpNetwork made, or as much of it as is there.
func tearDownNetwork(r *state.Record) error {
	var errs []error
	for _, name := range r.Links {
		link, err := netlink.LinkByName(name)
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			continue
		}
		if err == nil {
			err = netlink.LinkDel(link)
		}
		if err != nil && !errors.Is(err, syscall.ENODEV) { // it goes with the namespace of its peer
			errs = append(errs, fmt.Errorf("removing link %s: %w", name, err))
		}
	}
	for _, name := range r.Namespaces {
		path := filepath.Join(runNetNS, name)
		// EINVAL: the file is there and nothing is mounted on it.
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil &&
			!errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EINVAL) {
			errs = append(errs, fmt.Errorf("removing network namespace %s: %w", name, err))
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing network namespace %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// randomSubnet picks one of the subnets of testNet.
func randomSubnet() netip.Prefix {
	n := rand.IntN(1 << (subnetBits - testNet.Bits()))
	base := testNet.Addr().As4()
	v := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(n)<<(32-subnetBits)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), subnetBits)
}

// nth is the nth address of the subnet, with the subnet's length.
func nth(subnet netip.Prefix, n int) netip.Prefix {
	b := subnet.Addr().As4()
	b[3] += byte(n)
	return netip.PrefixFrom(netip.AddrFrom4(b), subnet.Bits())
}

func netlinkAddr(p netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}}
}
