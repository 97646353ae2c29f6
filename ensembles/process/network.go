//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Every member has its own network namespace. A bridge in a further namespace connects them, so that
// traffic does not pass this host's firewall: Docker drops packets that it did not bridge itself.
// One more link connects clients on this host:
//
//	host: zkbID ──── zkbench-ID-net: uplink ─ bridge ─ zk1 ──── zkbench-ID-zk1: eth0
//	                                                 └ zk2 ──── zkbench-ID-zk2: eth0
//
// Deleting the namespaces deletes all these links.
//
// For an ordinary user inside namespaces of package rootless, "host" is the network namespace
// there. It is named zkbench-ID-host, so that it exists as long as a persistent ensemble.

// runNetNS is the folder in which named namespaces are mounted, as ip-netns(8) does.
const runNetNS = "/run/netns"

// netNSPath returns the path at which a network namespace of the ensemble is mounted. Without root
// outside, /run is not writable, and mounts inside are invisible outside.
func netNSPath(r *state.Record, name string) string {
	if r.UserNS != "" {
		return filepath.Join(state.Dir(), name)
	}
	return filepath.Join(runNetNS, name)
}

func hostNetNS(r *state.Record) string { return r.Prefix() + "host" }

func planNetwork(r *state.Record) {
	r.UserNS = rootless.ID()
	r.Links = []string{r.LinkName()}
	r.Namespaces = []string{r.Prefix() + "net"}
	for i := range r.Members {
		name := r.Prefix() + r.Members[i].Name
		r.Namespaces = append(r.Namespaces, name)
		r.Members[i].NetNS = netNSPath(r, name)
	}
	if r.UserNS != "" {
		r.Namespaces = append(r.Namespaces, hostNetNS(r))
	}
}

func useLoopback(r *state.Record) error {
	r.Links, r.Namespaces, r.UserNS = nil, nil, rootless.ID()
	ports, err := setup.FreePorts(3 * len(r.Members))
	if err != nil {
		return err
	}
	for i := range r.Members {
		m := &r.Members[i]
		m.NetNS, m.IP, m.Ports = "", "127.0.0.1", [3]int(ports[3*i:])
	}
	return nil
}

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
		h, err := newNamespace(netNSPath(r, name), name != hostNetNS(r))
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

func newNamespace(path string, fresh bool) (handle netns.NsHandle, err error) {
	<-onOwnThread(func() { handle, err = mountNamespace(path, fresh) })
	if err != nil {
		return netns.None(), fmt.Errorf("making network namespace %s: %w", filepath.Base(path), err)
	}
	return handle, nil
}

// mountNamespace is newNamespace on the calling thread, which stays in the namespace.
func mountNamespace(path string, fresh bool) (netns.NsHandle, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return netns.None(), err
	}
	get := netns.Get
	if fresh {
		get = netns.New
	}
	handle, err := get()
	if err != nil {
		return netns.None(), err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444)
	if err == nil {
		own := fmt.Sprintf("/proc/self/task/%d/ns/net", syscall.Gettid())
		err = errors.Join(f.Close(), os.NewSyscallError("mount", syscall.Mount(own, path, "", syscall.MS_BIND, "")))
	}
	if err != nil {
		return netns.None(), errors.Join(err, handle.Close())
	}
	return handle, nil
}

// linkHost connects this host, at the first address of an unused subnet, to the bridge's namespace by a veth pair.
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
		return netip.Prefix{}, fmt.Errorf("bringing up link %s: %w", name, err)
	}
	const tries = 20
	for range tries {
		subnet, err := takeSubnet(link, randomSubnet())
		if err != nil || subnet.IsValid() {
			return subnet, err
		}
	}
	return netip.Prefix{}, fmt.Errorf("no free subnet in %v after %d tries (zkbench ensemble down removes leftovers of crashed runs)", testNet, tries)
}

func linkMembers(r *state.Record, subnet netip.Prefix, bridgeNS netns.NsHandle, memberNS []netns.NsHandle) error {
	net, err := netlink.NewHandleAt(bridgeNS)
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
		return fmt.Errorf("bringing up the bridge: %w", err)
	}
	for i := range r.Members {
		m := &r.Members[i]
		address := nth(subnet, i+2)
		m.IP = address.Addr().String()
		veth := &netlink.Veth{
			LinkAttrs:     netlink.LinkAttrs{Name: m.Name, MasterIndex: bridge.Index},
			PeerName:      "eth0",
			PeerNamespace: netlink.NsFd(memberNS[i]),
		}
		if err := net.LinkAdd(veth); err != nil {
			return fmt.Errorf("making the link of %s: %w", m.Name, err)
		}
		if err := net.LinkSetUp(veth); err != nil {
			return fmt.Errorf("bringing up the link of %s: %w", m.Name, err)
		}
		if err := setUpInterfaces(memberNS[i], address); err != nil {
			return fmt.Errorf("setting up the network of %s: %w", m.Name, err)
		}
	}
	return nil
}

func setUpInterfaces(end netns.NsHandle, address netip.Prefix) error {
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
				return fmt.Errorf("assigning the address %v: %w", address, err)
			}
		}
		if err := net.LinkSetUp(link); err != nil {
			return fmt.Errorf("bringing up %s: %w", name, err)
		}
	}
	return nil
}

// tearDownNetwork removes the existing objects of setUpNetwork. Namespaces inside another user
// namespace end with their last process and leave empty files.
func tearDownNetwork(r *state.Record) error {
	var errs []error
	if r.InThisNamespace() {
		for _, name := range r.Links {
			errs = append(errs, removeLink(name))
		}
	}
	for _, name := range r.Namespaces {
		errs = append(errs, removeNetNS(netNSPath(r, name), r.InThisNamespace()))
	}
	return errors.Join(errs...)
}

func removeLink(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil && !errors.Is(err, syscall.ENODEV) { // the link was removed with its peer's namespace
		return fmt.Errorf("removing link %s: %w", name, err)
	}
	return nil
}

func removeNetNS(path string, mounted bool) error {
	var unmounted error
	if mounted {
		unmounted = syscall.Unmount(path, syscall.MNT_DETACH)
		if errors.Is(unmounted, fs.ErrNotExist) || errors.Is(unmounted, syscall.EINVAL) {
			unmounted = nil // EINVAL: nothing is mounted on the file
		}
	}
	removed := os.Remove(path)
	if errors.Is(removed, fs.ErrNotExist) {
		removed = nil
	}
	if err := errors.Join(unmounted, removed); err != nil {
		return fmt.Errorf("removing network namespace %s: %w", filepath.Base(path), err)
	}
	return nil
}
