package chaos

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

func TestPartitionOneway(t *testing.T) {
	for _, d := range []Direction{In, Out} {
		t.Run(string(d), func(t *testing.T) {
			target := cuttable(t)
			e := inject(t, PartitionOneway{Member: Follower, Direction: d}, target)
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
