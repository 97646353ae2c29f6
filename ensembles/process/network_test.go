//go:build linux

package process

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestMember_NetNS(t *testing.T) {
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
	ok(t, err)
	jvm := state.FindAll(memberMark(e.ID, m.Name))
	if len(jvm) != 1 {
		t.Fatalf("found %d JVMs of %s", len(jvm), m.Name)
	}
	for path, want := range map[string]bool{
		filepath.Join("/proc", itoa(jvm[0].PID), "ns/net"): true,
		"/proc/self/ns/net": false,
	} {
		there, err := os.Stat(path)
		ok(t, err)
		if os.SameFile(inside, there) != want {
			t.Errorf("%s is the member's namespace: %v, want %v", path, !want, want)
		}
	}
}

func TestSetUpNetwork(t *testing.T) {
	needsRights(t)
	t.Run("the probe sees a member that cannot be reached", func(t *testing.T) {
		r := planned(3)
		ok(t, setUpNetwork(t.Context(), r))
		defer func() { ok(t, tearDownNetwork(r)) }()
		ok(t, probe(t.Context(), r))
		r.Members[1].IP = nth(netip.MustParsePrefix(r.Members[1].IP+"/27"), 10).Addr().String() // nobody is there
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := probe(ctx, r); err == nil || !strings.Contains(err.Error(), "zk2") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("what is half there is taken down on an error", func(t *testing.T) {
		r := planned(2)
		blocker := filepath.Join(runNetNS, r.Namespaces[2])
		ok(t, os.WriteFile(blocker, nil, 0o444)) // zk2's name is taken
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
			ok(t, tearDownNetwork(r))
		}
	})
}

func TestTakeSubnet(t *testing.T) {
	needsRights(t)
	r := planned(1)
	ok(t, setUpNetwork(t.Context(), r))
	defer func() { ok(t, tearDownNetwork(r)) }()
	subnet := netip.MustParsePrefix(r.Members[0].IP + "/27").Masked()
	other, err := newNamespace("zkbench-" + r.ID + "-other")
	ok(t, err)
	defer other.Close()
	also := &state.Record{ID: r.ID, Links: []string{"zkb" + r.ID + "x"}, Namespaces: []string{"zkbench-" + r.ID + "-other"}}
	defer func() { ok(t, tearDownNetwork(also)) }()
	_, err = linkHost(also.Links[0], other)
	ok(t, err)
	got, err := takeSubnet(linkNamed(t, also.Links[0]), subnet)
	ok(t, err)
	if got.IsValid() {
		t.Errorf("took %v, which %s has", got, r.Links[0])
	}
}

func TestRandomSubnet(t *testing.T) {
	for range 1000 {
		s := randomSubnet()
		if s != s.Masked() || !testNet.Contains(s.Addr()) || !testNet.Contains(nth(s, 31).Addr()) {
			t.Fatalf("%v is not a subnet of %v", s, testNet)
		}
		if last := nth(s, maxMembers+1); !s.Contains(last.Addr()) {
			t.Fatalf("the last member %v is not in %v", last, s)
		}
	}
}

func TestPlanLoopback(t *testing.T) {
	r := &state.Record{Members: make([]state.Member, 3)}
	ok(t, planLoopback(r))
	seen := map[int]bool{}
	for _, m := range r.Members {
		for _, port := range m.Ports {
			if seen[port] || port < lowestPort || port >= highestPort {
				t.Errorf("port %d is there twice or out of range", port)
			}
			seen[port] = true
			l, err := net.Listen("tcp", net.JoinHostPort(m.IP, itoa(port)))
			ok(t, err)
			l.Close()
		}
	}
}
