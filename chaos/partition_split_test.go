package chaos

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionSplit_letsTheMajorityElect(t *testing.T) {
	target := cuttable(t)
	e := inject(t, parse(t, "partition.split", Leader), target)
	m := hit(t, target, e)
	if !connectsTo(m.Addr) {
		t.Error("clients do not reach the minority")
	}
	within(t, 30*time.Second, "the majority elects another leader", func() bool {
		_, err := awaitNewLeader(t.Context(), target.Ensemble, m)
		return err == nil
	})
	heal(t, target, e)
}

func TestPartitionSplit_takesAMinority(t *testing.T) {
	var members []*ensembles.Member
	for i := range 7 {
		members = append(members, &ensembles.Member{Name: fmt.Sprintf("zk%d", i+1), IP: fmt.Sprintf("10.0.0.%d", i+1)})
	}
	for _, row := range []struct {
		name     string
		members  int
		minority int // 0: refused
	}{
		{"one of three", 3, 1},
		{"two of five", 5, 2},
		{"three of seven", 7, 3},
		{"half of four is no minority", 4, 1},
		{"two have no minority", 2, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			target := Target{
				Ensemble: &ensembles.Ensemble{Members: members[:row.members]},
				Random:   func(n int) int { return n - 1 },
			}
			list, err := minority(target, targetMember{Member: members[1]})
			if row.minority == 0 {
				if !errors.Is(err, ErrSkipped) {
					t.Errorf("got %v, %v", list, err)
				}
				return
			}
			must(t, err)
			if len(list) != row.minority || list[0].Name != "zk2" {
				t.Errorf("minority %s", names(list))
			}
			for _, i := range list {
				if len(i.rule.Peers) != row.members-row.minority {
					t.Errorf("%s is cut off from %v", i.Name, i.rule.Peers)
				}
				for _, other := range list {
					if slices.Contains(i.rule.Peers, netip.MustParseAddr(other.IP)) {
						t.Errorf("%s and %s are on one side, and cut", i.Name, other.Name)
					}
				}
			}
		})
	}
}

func TestPartitionSplit_countsThoseThatVote(t *testing.T) {
	e := shaped(5, 2)
	for _, row := range []struct {
		target   int
		minority string
	}{
		{0, "zk1, zk2"},
		{6, "zk7, zk1, zk2"}, // an observer comes on top
	} {
		list, err := minority(Target{Ensemble: e}, targetMember{Member: e.Members[row.target]})
		must(t, err)
		if names(list) != row.minority || len(list[0].rule.Peers) != 7-len(list) {
			t.Errorf("minority %s is cut off from %v", names(list), list[0].rule.Peers)
		}
	}
}

func TestPartitionRing_dropsPacketsAndHeals(t *testing.T) {
	e := ensemble(t, ensembles.Options{Members: 5, Observers: 1, Tick: tick})
	target := Target{Ensemble: e, Network: openNetwork(t, e)}
	fault := inject(t, parse(t, "partition.ring", ""), target)
	if !strings.HasPrefix(fault.Target, "zk1, zk2, zk3, zk4, zk5") || strings.Contains(fault.Target, "zk6") {
		t.Errorf("it hit %s", fault.Target)
	}
	heal(t, target, fault)
	// Two followers that are cut off together have nothing to say to the others but the leader.
	heal(t, target, inject(t, parse(t, "partition.split", Follower), target))
	// No quorum needs an observer.
	fault = inject(t, parse(t, "member.kill", Observer), target)
	if fault.Target != "zk6 (observer)" {
		t.Errorf("it hit %s", fault.Target)
	}
	within(t, 30*time.Second, "a member leads without the observer", func() bool {
		_, err := ensembles.Leader(t.Context(), e)
		return err == nil
	})
	heal(t, target, fault)
}

func TestRing_cutsAllButNeighbours(t *testing.T) {
	var members []*ensembles.Member
	for i := range 7 {
		members = append(members, &ensembles.Member{Name: fmt.Sprintf("zk%d", i), IP: fmt.Sprintf("10.0.0.%d", i)})
	}
	for n := 1; n <= 7; n++ {
		leader := members[n/2]
		list, err := ring(&ensembles.Ensemble{Members: members[:n]}, leader)
		if n < 4 {
			if !errors.Is(err, ErrSkipped) {
				t.Errorf("%d members: %v", n, err)
			}
			continue
		}
		must(t, err)
		cut := map[[2]string]bool{}
		for _, i := range list {
			if i.Member == leader {
				t.Errorf("%d members: the leader drops by %v", n, i.rule)
			}
			for _, p := range i.rule.Peers {
				cut[[2]string{i.IP, p.String()}], cut[[2]string{p.String(), i.IP}] = true, true
			}
		}
		for a := range n {
			for b := range n {
				far := (a-b+n)%n > 1 && (b-a+n)%n > 1
				if cut[[2]string{members[a].IP, members[b].IP}] != far {
					t.Errorf("%d members: %d and %d: cut is %v", n, a, b, !far)
				}
			}
		}
	}
}

func TestRing_leavesObserversOut(t *testing.T) {
	e := shaped(5, 2)
	list, err := ring(e, e.Members[0])
	must(t, err)
	if got := names(list); got != "zk3, zk4, zk5" {
		t.Errorf("cut off are %s", got)
	}
	if _, err := ring(shaped(3, 2), nil); !errors.Is(err, ErrSkipped) {
		t.Errorf("of 3 and 2 observers: %v", err)
	}
}
