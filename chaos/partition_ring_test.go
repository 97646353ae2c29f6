package chaos

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionRing_dropsPacketsAndHeals(t *testing.T) {
	e := ensemble(t, ensembles.Options{Members: 5, Tick: tick})
	target := Target{Ensemble: e, Network: network(t, e)}
	heal(t, target, inject(t, parse(t, "partition.ring", ""), target))
}

func TestRing_cutsAllButNeighbours(t *testing.T) {
	var members []*ensembles.Member
	for i := range 7 {
		members = append(members, &ensembles.Member{Name: fmt.Sprintf("zk%d", i), IP: fmt.Sprintf("10.0.0.%d", i)})
	}
	for n := 1; n <= 7; n++ {
		list, err := ring(&ensembles.Ensemble{Members: members[:n]})
		if n < 4 {
			if !errors.Is(err, ErrSkipped) {
				t.Errorf("%d members: %v", n, err)
			}
			continue
		}
		must(t, err)
		cut := map[[2]string]bool{}
		for _, i := range list {
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
