package chaos

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/zkbench/zkbench/ensembles"
)

// PartitionRing lets each member hear only its two neighbours in the order of
// their ids: everybody sees a part, and nobody sees the same one. With five
// members each still sees a majority.
type PartitionRing struct{}

var partitionRing = Kind{
	Name:    "partition.ring",
	About:   "lets each member hear only its two neighbours: majorities that overlap and differ",
	Needs:   needsNetwork + "; 4 members or more",
	Proof:   "packets between members that are no neighbours are dropped",
	Members: true,
	build:   func(string, settings) Fault { return PartitionRing{} },
}

func (f PartitionRing) String() string { return partitionRing.Name }

// Inject implements Fault.
func (f PartitionRing) Inject(ctx context.Context, t Target) (Effect, error) {
	list, err := ring(t.Ensemble)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return sever(ctx, f, t, list)
}

func ring(e *ensembles.Ensemble) ([]incision, error) {
	n := len(e.Members)
	if n < 4 {
		return nil, fmt.Errorf("%w: in a ring of %d members all are neighbours; use --members 5", ErrSkipped, n)
	}
	all, err := ips(e.Members)
	if err != nil {
		return nil, err
	}
	var list []incision
	for i, m := range e.Members {
		var far []netip.Addr
		for j, a := range all {
			// Each pair is cut on one side only: the later member's.
			if d := (i - j + n) % n; j < i && d != 1 && d != n-1 {
				far = append(far, a)
			}
		}
		if len(far) > 0 {
			list = append(list, incision{victim{Member: m}, Rule{Peers: far}})
		}
	}
	return list, nil
}
