package chaos

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// link.rate does not queue: TCP slows down because packets are lost.
var _ = register(Kind{
	Name:   "link.rate",
	About:  "drops the traffic to or from a member above a rate, as a provider's policer does",
	Proof:  "packets that exceeded the rate were dropped",
	Target: Follower, Targets: membersTargets,
	Params: []Param{{"kbit", "1000", "the rate, each way, in thousands of bits a second"}},
	needs:  []need{needsPackets},
	build: func(target string, s settings) injector {
		bytes := uint64(s.positive("kbit", 1e8) * 1000 / 8)
		return cutsSome(target, packetRule{Rate: max(bytes, 1)}, flood)
	},
})

// flood makes the member send its longest reply to a short request many times at once.
func flood(ctx context.Context, m *ensembles.Member) {
	ctx, cancel := context.WithTimeout(ctx, 5*silence)
	defer cancel()
	begin := time.Now()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for time.Since(begin) < silence && ctx.Err() == nil {
				// Lost or late replies are the purpose.
				_, _ = ensembles.FourLetter(ctx, m, "mntr")
			}
		})
	}
	all.Wait()
}
