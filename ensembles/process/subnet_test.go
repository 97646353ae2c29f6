//go:build linux

package process

import (
	"net/netip"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestTakeSubnet_refusesWhatSomebodyHas(t *testing.T) {
	needsRights(t)
	r := planned(1)
	check.OK(t, setUpNetwork(t.Context(), r))
	defer func() { check.OK(t, tearDownNetwork(r)) }()
	subnet := netip.MustParsePrefix(r.Members[0].IP + "/27").Masked()
	other, err := newNamespace(netNSPath(r, r.Prefix()+"other"), true)
	check.OK(t, err)
	defer other.Close()
	also := &state.Record{ID: r.ID, Links: []string{"zkb" + r.ID + "x"}, Namespaces: []string{"zkbench-" + r.ID + "-other"}}
	defer func() { check.OK(t, tearDownNetwork(also)) }()
	_, err = linkHost(also.Links[0], other)
	check.OK(t, err)
	got, err := takeSubnet(linkNamed(t, also.Links[0]), subnet)
	check.OK(t, err)
	if got.IsValid() {
		t.Errorf("took %v, which %s has", got, r.Links[0])
	}
}

func TestRandomSubnet_hasRoomForAllMembers(t *testing.T) {
	for range 1000 {
		s := randomSubnet()
		if s != s.Masked() || !testNet.Contains(s.Addr()) || !testNet.Contains(nth(s, 31).Addr()) {
			t.Fatalf("%v is not a subnet of %v", s, testNet)
		}
		if last := nth(s, setup.MaxMembers+1); !s.Contains(last.Addr()) {
			t.Fatalf("the last member %v is not in %v", last, s)
		}
	}
}
