//go:build linux

package process

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestMember_hasItsOwnNamespace(t *testing.T) {
	e := up(t, ensembles.Options{Members: 1})
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
	for path, want := range map[string]bool{
		filepath.Join("/proc", itoa(jvm[0].PID), "ns/net"): true,
		"/proc/self/ns/net": false,
	} {
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
		if err := probe(ctx, r); err == nil || !strings.Contains(err.Error(), "zk2") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("what is half there is taken down on an error", func(t *testing.T) {
		r := planned(2)
		blocker := netNSPath(r, r.Namespaces[2])
		check.OK(t, os.WriteFile(blocker, nil, 0o444)) // zk2's name is taken
		if err := setUpNetwork(t.Context(), r); err == nil || !strings.Contains(err.Error(), "zk2") {
			t.Fatalf("got %v", err)
		}
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
			if seen[r.Members[0].IP] {
				t.Errorf("%s twice", r.Members[0].IP)
			}
			seen[r.Members[0].IP] = true
			check.OK(t, tearDownNetwork(r))
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
			if seen[port] {
				t.Errorf("port %d is there twice", port)
			}
			seen[port] = true
		}
	}
}
