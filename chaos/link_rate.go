package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// LinkRate limits the bytes a second to and from a member, by dropping what
// exceeds the rate, as a provider's policer does. It does not queue: TCP slows down
// because it loses packets.
type LinkRate struct {
	Member string // Leader, Follower, Any or a member's name
	Rate   uint64 // bytes a second, each way
}

var linkRate = Kind{
	Name:   "link.rate",
	About:  "drops what exceeds a rate to or from a member, as a provider's policer does",
	Needs:  needsNetwork,
	Proof:  "packets that exceeded the rate were dropped",
	Target: Follower, Aims: memberAims, Members: true,
	Params: []Param{{"kbit", "1000", "the rate, each way, in thousands of bits a second"}},
	build: func(target string, s settings) Fault {
		return LinkRate{Member: target, Rate: uint64(s.positive("kbit", 1e8) * 1000 / 8)}
	},
}

func (f LinkRate) String() string { return linkRate.Name }

// Inject implements Fault.
func (f LinkRate) Inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMember(ctx, t, f.Member)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	e, err := provoke(ctx, t, v, Rule{Rate: max(f.Rate, 1)}, flood)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return e, nil
}

// flood has the member send its longest short answer many times at once.
func flood(ctx context.Context, m *ensembles.Member) {
	ctx, cancel := context.WithTimeout(ctx, 5*silence)
	defer cancel()
	begin := time.Now()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for time.Since(begin) < silence && ctx.Err() == nil {
				// That answers are lost or late is what it is for.
				_, _ = ensembles.FourLetter(ctx, m.Addr, "mntr")
			}
		})
	}
	all.Wait()
}
