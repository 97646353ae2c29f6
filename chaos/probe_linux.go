package chaos

import (
	"fmt"
	"net/netip"
	"runtime"
	"time"

	rtnetlink "github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/zkbench/zkbench/ensembles/state"
)

// probeNetwork tests everything in a private network namespace, which the kernel removes
// afterwards.
func probeNetwork() Abilities {
	found := make(chan Abilities)
	go func() {
		// The thread is never unlocked and ends with this goroutine, so that nothing else runs in
		// the namespace.
		runtime.LockOSThread()
		found <- probeHere()
	}()
	return <-found
}

// probeHere creates a network namespace and enters it.
func probeHere() Abilities {
	ns, err := netns.New()
	if err != nil {
		err = fmt.Errorf("no network namespace can be made: %w (run as root)", err)
		return Abilities{Namespaces: err, Filter: err, Delay: err}
	}
	defer ns.Close()
	f, err := openFilter(int(ns), state.Self().String())
	if err != nil {
		return Abilities{Filter: err, Delay: err}
	}
	defer f.close()
	a := Abilities{Filter: probeFilter(f)}
	veth := &rtnetlink.Veth{LinkAttrs: rtnetlink.LinkAttrs{Name: "zkbprobe0"}, PeerName: "zkbprobe1"}
	if err := f.qdisc.LinkAdd(veth); err != nil {
		a.Namespaces = fmt.Errorf("no link can be made in a network namespace: %w", err)
		a.Delay = a.Namespaces
		return a
	}
	if a.Delay = f.delay(time.Millisecond, 0); a.Delay == nil {
		a.Delay = f.removeDelay()
	}
	return a
}

// probeFilter makes one cut of each kind and heals it.
func probeFilter(f *filter) error {
	for _, r := range []packetRule{{}, {Peers: []netip.Addr{netip.MustParseAddr("198.51.100.1")}}, {Loss: 50}, {Rate: 1000}} {
		id, err := f.cut(r)
		if err != nil {
			return fmt.Errorf("%w (modprobe nf_tables)", err)
		}
		if err := f.heal(id); err != nil {
			return err
		}
	}
	return nil
}
