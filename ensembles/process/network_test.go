//go:build linux

package process

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

// testNamespace checks that the only member has a network namespace of its own, where we may make one.
func testNamespace(t *testing.T, e *ensembles.Ensemble) {
	m := e.Members[0]
	if mayMakeNetworks(t) == (m.NetNS == "") {
		t.Fatalf("its namespace is %q", m.NetNS)
	}
	if m.NetNS == "" {
		if m.IP != "127.0.0.1" {
			t.Errorf("without a namespace its address is %s", m.IP)
		}
		return
	}
	inside, err := os.Stat(m.NetNS)
	check.OK(t, err)
	jvm := state.FindAll(memberArg(e.ID, m.Name))
	if len(jvm) != 1 {
		t.Fatalf("found %d JVMs of %s", len(jvm), m.Name)
	}
	for path, want := range map[string]bool{fmt.Sprintf("/proc/%d/ns/net", jvm[0].PID): true, "/proc/self/ns/net": false} {
		there, err := os.Stat(path)
		check.OK(t, err)
		if os.SameFile(inside, there) != want {
			t.Errorf("%s is the member's namespace: %v, want %v", path, !want, want)
		}
	}
}

func TestSetUpNetwork_provesItselfOrLeavesNothing(t *testing.T) {
	needsRights(t)
	t.Run("the probe sees a member that cannot be reached", func(t *testing.T) {
		r := planned(3)
		check.OK(t, setUpNetwork(t.Context(), r))
		defer func() { check.OK(t, tearDownNetwork(r)) }()
		check.OK(t, probe(t.Context(), r))
		r.Members[1].IP = nth(netip.MustParsePrefix(r.Members[1].IP+"/27"), 10).Addr().String() // nobody is there
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		check.Error(t, probe(ctx, r), "zk2")
	})
	t.Run("what is half there is taken down on an error", func(t *testing.T) {
		r := planned(2)
		blocker := netNSPath(r, r.Namespaces[2])
		check.OK(t, os.WriteFile(blocker, nil, 0o444)) // zk2's name is taken
		check.Error(t, setUpNetwork(t.Context(), r), "zk2")
		nothingLeft(t, *r)
	})
	t.Run("networks that are made at the same time do not share a subnet", func(t *testing.T) {
		const n = 8
		records := make([]*state.Record, n)
		errs := make(chan error, n)
		for i := range records {
			records[i] = planned(1)
			go func() { errs <- setUpNetwork(context.Background(), records[i]) }()
		}
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		seen := map[string]bool{}
		for _, r := range records {
			seen[r.Members[0].IP] = true
			check.OK(t, tearDownNetwork(r))
		}
		if len(seen) != n {
			t.Errorf("%d networks have the addresses %v", n, seen)
		}
	})
}

func TestUseLoopback_givesEachMemberItsOwnPorts(t *testing.T) {
	r := planned(3)
	check.OK(t, useLoopback(r))
	seen := map[int]bool{}
	for _, m := range r.Members {
		if m.IP != "127.0.0.1" || m.NetNS != "" {
			t.Errorf("%s is at %s in namespace %q", m.Name, m.IP, m.NetNS)
		}
		for _, port := range m.Ports {
			seen[port] = true
		}
	}
	if len(seen) != 9 {
		t.Errorf("three members have the ports %v", seen)
	}
}
