package chaos

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// LinkLoss drops a share of a member's packets, both ways, except on loopback.
// Which ones is the kernel's choice, not the seed's.
type LinkLoss struct {
	Member  string  // Leader, Follower, Any or a member's name
	Percent float64 // of the packets
}

var linkLoss = Kind{
	Name:   "link.loss",
	About:  "drops a share of a member's packets, both ways",
	Needs:  needsNetwork,
	Proof:  "packets to or from it were dropped",
	Target: Follower, Aims: memberAims, Members: true,
	Params: []Param{{"percent", "5", "the share; more than 0, at most 100"}},
	build: func(target string, s settings) Fault {
		return LinkLoss{Member: target, Percent: s.positive("percent", 100)}
	},
}

func (f LinkLoss) String() string { return linkLoss.Name }

// Inject implements Fault.
func (f LinkLoss) Inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMember(ctx, t, f.Member)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	e, err := provoke(ctx, t, v, Rule{Loss: f.Percent}, func(ctx context.Context, m *ensembles.Member) {
		reachable(ctx, m, silence)
	})
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return e, nil
}
