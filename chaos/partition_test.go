package chaos

import (
	"context"
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
	for _, row := range []struct {
		name  string
		proof func() error
	}{
		{"an error", func() error { return broken }},
		{"a panic", func() error { panic(broken) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			func() {
				defer func() { recover() }()
				list := []memberRule{{targetMember{Member: m}, network.Rule{}}}
				_, err := newPartition(t.Context(), target, list, func(*partition) (string, error) {
					if reachable(t.Context(), m, silence) {
						t.Error("not cut")
					}
					return "", row.proof()
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

// Silence proves nothing of a member that did not answer before.
func TestSpeaks_needsAnAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := awaitResponsive(ctx, &ensembles.Member{Name: "zk1", Addr: "127.0.0.1:1"}); !errors.Is(err, ErrNoEffect) {
		t.Errorf("got %v", err)
	}
	must(t, awaitResponsive(t.Context(), shared(t).Ensemble.Members[0]))
}

func TestPartitionPeers_costsTheMemberItsQuorum(t *testing.T) {
	target := cuttable(t)
	e := inject(t, parse(t, "partition.peers", Leader), target)
	m := hit(t, target, e)
	if !connectsTo(m.Addr) {
		t.Error("clients do not reach it")
	}
	within(t, 30*time.Second, "it loses its quorum", func() bool {
		return !ensembles.Status(t.Context(), target.Ensemble)[m.ID-1].Serves()
	})
	heal(t, target, e)
}

func TestPartitionPeers_needsPeers(t *testing.T) {
	target := cuttable(t)
	target.Ensemble = &ensembles.Ensemble{Members: target.Ensemble.Members[:1]}
	if _, err := parse(t, "partition.peers", Any).Inject(t.Context(), target); !errors.Is(err, ErrSkipped) {
		t.Errorf("got %v", err)
	}
}

func TestPartitionOneway_costsTheMemberItsQuorum(t *testing.T) {
	for _, d := range []string{network.In, network.Out} {
		t.Run(d, func(t *testing.T) {
			target := cuttable(t)
			e := inject(t, parse(t, "partition.oneway", Follower, "direction", d), target)
			m := hit(t, target, e)
			if !connectsTo(m.Addr) {
				t.Error("clients do not reach it")
			}
			within(t, 30*time.Second, "it loses its quorum", func() bool {
				return !ensembles.Status(t.Context(), target.Ensemble)[m.ID-1].Serves()
			})
			heal(t, target, e)
		})
	}
}

func TestPartitionIsolate_cutsOneMemberOffFromAll(t *testing.T) {
	for kind := range kinds {
		e := start(t, kind, ensembles.Options{Tick: 500 * time.Millisecond})
		target := Target{Ensemble: e, Network: openNetwork(t, e)}
		for _, who := range []string{Leader, Follower, Any, "zk2"} {
			t.Run(string(kind)+" "+who, func(t *testing.T) { isolateOnce(t, target, who) })
		}
	}
}

func isolateOnce(t *testing.T, target Target, who string) {
	e := target.Ensemble
	must(t, ensembles.WaitServing(t.Context(), e))
	begin := time.Now()
	effect, err := parse(t, "partition.isolate", who).Inject(t.Context(), target)
	must(t, err)
	t.Logf("%s: %s (%v)", effect.Target, effect.Proof, time.Since(begin))
	defer effect.Heal(context.Background())
	m, err := e.Member(effect.Target[:3])
	must(t, err)
	if connectsTo(m.Addr) {
		t.Error("it still accepts connections")
	}
	if who == Leader {
		within(t, 30*time.Second, "the others elect another leader", func() bool {
			l, err := ensembles.Leader(t.Context(), e)
			return err == nil && l != m
		})
	}
	begin = time.Now()
	must(t, effect.Heal(t.Context()))
	t.Logf("healed and back in quorum after %v", time.Since(begin))
	if s := ensembles.Status(t.Context(), e); !s[m.ID-1].Serves() {
		t.Errorf("healed, and it does not serve: %v", s[m.ID-1].Err)
	}
	must(t, effect.Heal(t.Context()))
}

func TestPartitionIsolate_refusesWhatItCannotCut(t *testing.T) {
	e := shared(t).Ensemble
	if _, err := parse(t, "partition.isolate", "zk1").Inject(t.Context(), Target{Ensemble: e}); !errors.Is(err, ErrSkipped) {
		t.Errorf("without a network: %v", err)
	}
	if _, err := parse(t, "partition.isolate", "zk9").Inject(t.Context(), Target{Ensemble: e}); err == nil {
		t.Error("a member that does not exist was cut off")
	}
	if !connectsTo(e.Members[0].Addr) {
		t.Error("the member was harmed")
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

func TestPartitionLeader_needsThreeMembers(t *testing.T) {
	target := cuttable(t)
	target.Ensemble = &ensembles.Ensemble{Members: target.Ensemble.Members[:2]}
	if _, err := parse(t, "partition.leader", "").Inject(t.Context(), target); !errors.Is(err, ErrSkipped) {
		t.Errorf("got %v", err)
	}
}
