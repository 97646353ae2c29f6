//go:build linux

package process

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// awaitMode waits until a member says that it is one of these.
func awaitMode(t *testing.T, m *ensembles.Member, want ...string) {
	t.Helper()
	check.Eventually(t, fmt.Sprintf("%s is %q", m.Name, want), func() bool {
		return slices.Contains(want, check.Mode(t.Context(), m))
	})
}

func TestMachine_killsStopsAndPauses(t *testing.T) {
	e := up(t, ensembles.Options{})
	ctx := check.Within(t, time.Minute)

	t.Run("a killed follower is gone, starts again at its address and rejoins", func(t *testing.T) {
		m := check.WithMode(t, e, "follower")
		before := m.Addr
		check.OK(t, m.Machine.Kill(ctx))
		check.Running(t, m, false)
		if mode := check.Mode(ctx, m); mode != "" {
			t.Errorf("after Kill it says that it is %s", mode)
		}
		check.OK(t, m.Machine.Kill(ctx)) // again, of the dead
		check.OK(t, m.Machine.Start(ctx))
		awaitMode(t, m, "follower")
		if m.Addr != before {
			t.Errorf("its address was %s and is %s", before, m.Addr)
		}
	})
	t.Run("a stopped leader is replaced, and comes back as a follower", func(t *testing.T) {
		m := check.WithMode(t, e, "leader")
		check.OK(t, m.Machine.Stop(ctx))
		check.Running(t, m, false)
		check.OK(t, m.Machine.Start(ctx))
		awaitMode(t, m, "follower")
	})
	t.Run("a paused member keeps its sockets and answers nothing until it is resumed", func(t *testing.T) {
		m := check.WithMode(t, e, "follower")
		check.OK(t, m.Machine.Pause(ctx))
		check.Running(t, m, true)
		c, err := net.DialTimeout("tcp", m.Addr, time.Second)
		if err != nil {
			t.Error("its socket is closed:", err)
		} else {
			c.Close()
		}
		if got := check.Mode(ctx, m); got != "" {
			t.Errorf("it answers: %q", got)
		}
		check.OK(t, m.Machine.Resume(ctx))
		awaitMode(t, m, "follower")
	})
	t.Run("a paused member can be stopped", func(t *testing.T) {
		m := check.WithMode(t, e, "follower")
		check.OK(t, m.Machine.Pause(ctx))
		check.OK(t, m.Machine.Stop(ctx))
		check.Error(t, m.Machine.Pause(ctx), "is not running")
		check.OK(t, m.Machine.Start(ctx))
		awaitMode(t, m, "follower")
	})
	t.Run("what runs cannot be started again", func(t *testing.T) {
		check.Error(t, e.Members[0].Machine.Start(ctx), "is already running")
	})
}

func TestMachine_namesATakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	m := machine{
		record: &state.Record{ID: "test", Dir: t.TempDir()},
		member: state.Member{Name: "zk1", IP: "127.0.0.1", Ports: [3]int{port, 0, 0}},
	}
	check.Error(t, m.Start(t.Context()), "is taken")
}

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
	link, err := netlink.LinkByName(also.Links[0])
	check.OK(t, err)
	got, err := takeSubnet(link, subnet)
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
