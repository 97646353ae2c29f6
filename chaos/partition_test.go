package chaos

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
)

// If one of several cuts cannot be made, those before it are undone.
func TestNewPartition_makesAllCutsOrNone(t *testing.T) {
	target := cuttable(t)
	good := targetMember{Member: target.Ensemble.Members[0]}
	bad := targetMember{Member: &ensembles.Member{Name: "stranger"}}
	list := []memberRule{{good, network.Rule{}}, {bad, network.Rule{}}}
	proof := func(*partition) (string, error) { t.Error("it wants a proof"); return "", nil }
	if _, err := newPartition(t.Context(), target, list, proof); err == nil || !strings.Contains(err.Error(), "stranger is not a member") {
		t.Errorf("got %v", err)
	}
	if !reachable(t.Context(), good.Member, 20*time.Second) {
		t.Error("the first cut is in force")
	}
}

func TestPartition_isRemovedWhenItCannotBeProven(t *testing.T) {
	target := cuttable(t)
	m := target.Ensemble.Members[0]
	broken := errors.New("broken")
	for name, fail := range map[string]func() error{
		"an error": func() error { return broken },
		"a panic":  func() error { panic(broken) },
	} {
		t.Run(name, func(t *testing.T) {
			func() {
				defer func() { recover() }()
				list := []memberRule{{targetMember{Member: m}, network.Rule{}}}
				_, err := newPartition(t.Context(), target, list, func(*partition) (string, error) {
					if reachable(t.Context(), m, silence) {
						t.Error("not cut")
					}
					return "", fail()
				})
				if !errors.Is(err, broken) {
					t.Errorf("got %v", err)
				}
			}()
			if !reachable(t.Context(), m, 20*time.Second) {
				t.Error("the cut is in force")
			}
		})
	}
}

func TestPartitionIsolate_cutsOneMemberOffFromAll(t *testing.T) {
	for kind, open := range map[string]func(testing.TB) Target{"process": cuttable, "container": contained} {
		t.Run(kind, func(t *testing.T) {
			target := open(t)
			for _, who := range []string{Leader, Follower, Any, "zk2"} {
				e := inject(t, parse(t, "partition.isolate", who), target)
				m := hit(t, target, e)
				if connectsTo(m.Addr) {
					t.Errorf("%s (%s) still accepts connections", m.Name, who)
				}
				if who == Leader {
					_, err := awaitNewLeader(t.Context(), target.Ensemble, m)
					must(t, err)
				}
				heal(t, target, e)
			}
		})
	}
}

func TestPartitionClients_leavesTheEnsembleWhole(t *testing.T) {
	target := cuttable(t)
	before, err := ensembles.Leader(t.Context(), target.Ensemble)
	must(t, err)
	e := inject(t, parse(t, "partition.clients", Leader), target)
	m := hit(t, target, e)
	if connectsTo(m.Addr) {
		t.Error("clients reach it")
	}
	for _, s := range ensembles.Status(t.Context(), target.Ensemble) {
		if s.Member != m && s.Server.Mode != ensembles.ModeFollower {
			t.Errorf("%s: the ensemble is not whole: %s, %v", s.Member.Name, s.Server.Mode, s.Err)
		}
	}
	heal(t, target, e)
	if now, err := ensembles.Leader(t.Context(), target.Ensemble); err != nil || now != before {
		t.Errorf("the leader changed: %v, %v", now, err)
	}
}

func TestPartitionLeader_lastsUntilAnotherLeads(t *testing.T) {
	target := cuttable(t)
	before, err := ensembles.Leader(t.Context(), target.Ensemble)
	must(t, err)
	e := inject(t, parse(t, "partition.leader", ""), target)
	if hit(t, target, e) != before || !strings.Contains(e.Proof, " is the leader now") {
		t.Errorf("the leader was %s; effect %+v", before.Name, e)
	}
	if now, err := ensembles.Leader(t.Context(), target.Ensemble); err != nil || now == before {
		t.Errorf("%v leads, %v", now, err)
	}
	heal(t, target, e)
	if now, err := ensembles.Leader(t.Context(), target.Ensemble); err != nil || now == before {
		t.Errorf("the old leader came back as the leader: %v, %v", now, err)
	}
}
