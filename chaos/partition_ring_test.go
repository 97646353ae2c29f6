package chaos

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionRing_dropsPacketsAndHeals(t *testing.T) {
	e := ensemble(t, ensembles.Options{Members: 5, Observers: 1, Tick: tick})
	target := Target{Ensemble: e, Network: network(t, e)}
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
