package chaos

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionOneway_costsTheMemberItsQuorum(t *testing.T) {
	for _, d := range []direction{inOnly, outOnly} {
		t.Run(string(d), func(t *testing.T) {
			target := cuttable(t)
			e := inject(t, parse(t, "partition.oneway", Follower, "direction", string(d)), target)
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
