package container

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func TestGiveAddresses_leavesRoomForTheGateway(t *testing.T) {
	for name, test := range map[string]struct {
		subnet  string
		members int
		last    string // address of the last member
		err     string
	}{
		"members stand in a row after the gateway": {"172.18.0.0/16", 3, "172.18.0.12", ""},
		"the smallest subnet that fits":            {"10.0.0.0/28", 5, "10.0.0.14", ""},
		"one member more does not fit":             {"10.0.0.0/28", 6, "", "too small for"},
		"a subnet that is all gateway":             {"10.0.0.0/30", 1, "", "too small for"},
	} {
		t.Run(name, func(t *testing.T) {
			p := planned(t, nil, ensembles.Options{Members: test.members})
			p.direct = true
			check.Error(t, p.assignAddresses(netip.MustParsePrefix(test.subnet)), test.err)
			if got := p.Members[test.members-1].IP; got != test.last {
				t.Errorf("the last one is at %s", got)
			}
		})
	}
}

func TestGivePorts_areDistinct(t *testing.T) {
	p := planned(t, nil, ensembles.Options{Members: 20})
	check.OK(t, p.assignPorts())
	seen := map[string]bool{}
	for _, m := range p.Members {
		if m.Published == 0 || seen[m.Addr()] {
			t.Errorf("%s is at %s, as somebody else is", m.Name, m.Addr())
		}
		seen[m.Addr()] = true
	}
}

func TestTaken_knowsDockersErrors(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"another network has it":     {errors.New("Pool overlaps with other one on this address space"), true},
		"another bridge has it":      {errors.New("cannot create network a (br-a): conflicts with network b (br-b): networks have overlapping IPv4"), true},
		"Docker calls it a conflict": {errdefs.ErrConflict, true},
		"the daemon is gone":         {errors.New("connection refused"), false},
	} {
		if got := isSubnetConflict(test.err); got != test.want {
			t.Errorf("%s: taken: %v", name, got)
		}
	}
}

// Two ensembles that start at once do not get in each other's way.
func TestMakeNetwork_worksFourTimesAtOnce(t *testing.T) {
	errs := make(chan error)
	const many = 4
	for range many {
		p := planned(t, docker(t), ensembles.Options{})
		go func() { errs <- p.makeNetwork(t.Context()) }()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
