package chaos

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionSplit_takesAMinority(t *testing.T) {
	for _, row := range []struct {
		name              string
		voting, observers int
		target            int
		minority          string // "": refused
	}{
		{"one of three", 3, 0, 1, "zk2"},
		{"two of five", 5, 0, 1, "zk2, zk5"},
		{"three of seven", 7, 0, 1, "zk2, zk7, zk6"},
		{"half of four is no minority", 4, 0, 1, "zk2"},
		{"two have no minority", 2, 0, 1, ""},
		{"observers do not count", 5, 2, 1, "zk2, zk5"},
		{"an observer comes on top", 5, 2, 6, "zk7, zk5, zk4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			target := Target{Ensemble: shaped(row.voting, row.observers), Random: func(n int) int { return n - 1 }}
			list, err := minority(target, targetMember{Member: target.Ensemble.Members[row.target]})
			if row.minority == "" {
				if !errors.Is(err, ErrSkipped) {
					t.Errorf("got %v, %v", list, err)
				}
				return
			}
			must(t, err)
			if names(list) != row.minority {
				t.Errorf("minority %s", names(list))
			}
			for _, i := range list {
				if len(i.rule.Peers) != row.voting+row.observers-len(list) {
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

func TestPartitionRing_dropsPacketsAndHeals(t *testing.T) {
	e := ensemble(t, ensembles.Options{Members: 5, Observers: 1, Tick: tick})
	target := withNetwork(t, e)
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
	for n := 1; n <= 7; n++ {
		e := shaped(n, 2)
		leader := e.Members[n/2]
		list, err := ring(e, leader)
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
		for a, one := range e.Members {
			for b, other := range e.Members {
				far := (a-b+n)%n > 1 && (b-a+n)%n > 1 && !one.Observer && !other.Observer
				if cut[[2]string{one.IP, other.IP}] != far {
					t.Errorf("%d members: %s and %s: cut is %v", n, one.Name, other.Name, !far)
				}
			}
		}
	}
}
