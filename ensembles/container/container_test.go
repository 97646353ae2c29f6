package container

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
	"github.com/zkbench/zkbench/ensembles/txnlog"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestEnsemble_comesBackAfterEachFault(t *testing.T) {
	// Ticks are short because members wait whole ticks before they give up a frozen leader.
	e := start(t, ensembles.Options{Tick: 500 * time.Millisecond})
	if len(e.Members) != 3 || e.Version == "" || e.Kind != ensembles.Container || e.Tick != 500*time.Millisecond {
		t.Fatalf("not the default ensemble: %+v", e)
	}
	t.Run("a killed follower comes back at the same address", func(t *testing.T) {
		m := check.WithMode(t, e, ensembles.ModeFollower)
		addr := m.Addr
		check.OK(t, m.Machine.Kill(t.Context()))
		check.Running(t, m, false)
		check.Eventually(t, m.Name+" falls silent", func() bool { return check.Mode(t.Context(), m) == "" })
		if err := m.Machine.Kill(t.Context()); err != nil {
			t.Errorf("killing it again: %v", err)
		}
		if leader, err := ensembles.Leader(t.Context(), e); err != nil || leader == m {
			t.Errorf("the others lost their leader: %v", err)
		}
		check.OK(t, m.Machine.Start(t.Context()))
		check.Running(t, m, true)
		check.OK(t, ensembles.WaitServing(check.Within(t, 30*time.Second), e))
		if m.Addr != addr {
			t.Errorf("address %s, was %s", m.Addr, addr)
		}
	})
	t.Run("a stopped leader is replaced and comes back", func(t *testing.T) {
		old, err := ensembles.Leader(t.Context(), e)
		check.OK(t, err)
		check.OK(t, old.Machine.Stop(t.Context()))
		check.Running(t, old, false)
		waitLeader(t, e, old)
		check.OK(t, old.Machine.Start(t.Context()))
		check.OK(t, ensembles.WaitServing(check.Within(t, 30*time.Second), e))
	})
	t.Run("a frozen leader is replaced and thaws", func(t *testing.T) {
		old, err := ensembles.Leader(t.Context(), e)
		check.OK(t, err)
		check.OK(t, old.Machine.Pause(t.Context()))
		check.OK(t, old.Machine.Pause(t.Context()))
		check.Running(t, old, true)
		waitLeader(t, e, old)
		check.OK(t, old.Machine.Resume(t.Context()))
		check.OK(t, old.Machine.Resume(t.Context()))
		check.OK(t, ensembles.WaitServing(check.Within(t, 30*time.Second), e))
	})
	t.Run("a frozen follower can be killed", func(t *testing.T) {
		m := check.WithMode(t, e, ensembles.ModeFollower)
		check.OK(t, m.Machine.Pause(t.Context()))
		check.OK(t, m.Machine.Kill(t.Context()))
		check.Running(t, m, false)
		check.OK(t, m.Machine.Start(t.Context()))
		check.OK(t, ensembles.WaitServing(check.Within(t, 30*time.Second), e))
	})
	t.Run("what it committed can be read, also from a member that is down", func(t *testing.T) { committed(t, e) })
	t.Run("its files can be saved", func(t *testing.T) {
		dir := t.TempDir()
		check.OK(t, e.Members[0].Machine.Save(t.Context(), dir))
		for name, want := range map[string]string{"zk1.cfg": "server.1=", "zk1.log": "QuorumPeer"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			check.OK(t, err)
			check.Contains(t, string(text), want)
		}
	})
	t.Run("a sweep spares what a living process owns", func(t *testing.T) {
		sweepOne(t, e.ID, true)
		if n := count(t, e.ID); n != 4 {
			t.Errorf("%d containers and networks are left of 4", n)
		}
	})
	t.Run("it goes away for a cancelled context, and twice", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		check.OK(t, e.Down(ctx))
		check.OK(t, e.Down(ctx))
		if n := count(t, e.ID); n != 0 {
			t.Errorf("%d containers and networks are left", n)
		}
	})
}

func committed(t *testing.T, e *ensembles.Ensemble) {
	leader, err := ensembles.Leader(t.Context(), e)
	check.OK(t, err)
	c := session(t, leader)
	id := c.SessionID()
	c.Close()
	down := check.WithMode(t, e, ensembles.ModeFollower)
	check.OK(t, down.Machine.Kill(t.Context()))
	var got []txnlog.Entry
	s, err := ensembles.Commits(t.Context(), e, 0, func(entry txnlog.Entry) error {
		got = append(got, entry)
		return nil
	})
	check.OK(t, err)
	if len(got) != 2 || got[1].Session != id || got[1].Cxid == 0 || s.Gaps != nil || s.TruncatedFiles != 0 {
		t.Errorf("got %+v, %+v", got, s)
	}
	logs, err := down.Machine.TxnLogs(t.Context(), 0)
	if err != nil || len(logs) == 0 {
		t.Errorf("the one that is down has %d logs, %v", len(logs), err)
	}
	check.OK(t, down.Machine.Start(t.Context()))
	check.OK(t, ensembles.WaitServing(check.Within(t, 30*time.Second), e))
}

func TestZooCfg_namesAllMembers(t *testing.T) {
	p := planned(t, nil, ensembles.Options{Tick: 250 * time.Millisecond})
	check.OK(t, p.assignAddresses(netip.MustParsePrefix("172.30.4.0/24")))
	cfg := p.zooCfg(p.Members[0])
	check.Contains(t, cfg, "tickTime=250\n", "standaloneEnabled=false\n", "4lw.commands.whitelist=*\n",
		"server.1=172.30.4.10:2888:3888;2181\n", "server.3=172.30.4.12:2888:3888;2181\n")
	if strings.Contains(cfg, "server.4") {
		t.Errorf("four members of three:\n%s", cfg)
	}
}
