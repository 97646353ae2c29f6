package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
)

// link.loss does not affect loopback. The kernel, not the seed, determines which packets are dropped.
var _ = register(Kind{
	Name:   "link.loss",
	About:  "drops a share of a member's packets, both ways",
	Proof:  "packets to or from it were dropped",
	Target: Follower,
	Params: []Param{{"percent", "5", "the share; more than 0, at most 100"}},
	needs:  []need{needsPackets},
	onMember: func(s settings) memberFault {
		return partialDrop(network.Rule{Loss: s.positive("percent", 100)}, func(ctx context.Context, m *ensembles.Member) {
			reachable(ctx, m, silence)
		})
	},
})

// link.rate drops excess packets instead of queueing them: TCP slows down because of the loss.
var _ = register(Kind{
	Name:   "link.rate",
	About:  "drops the traffic to or from a member above a rate, as a provider's policer does",
	Proof:  "packets that exceeded the rate were dropped",
	Target: Follower,
	Params: []Param{{"kbit", "1000", "the rate, each way, in thousands of bits a second"}},
	needs:  []need{needsPackets},
	onMember: func(s settings) memberFault {
		bytes := uint64(s.positive("kbit", 1e8) * 1000 / 8)
		return partialDrop(network.Rule{Rate: max(bytes, 1)}, flood)
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

// link.delay delays packets as distance does. The kernel's network emulator chooses the jitter, not
// the seed.
var _ = register(Kind{
	Name:   "link.delay",
	About:  "delays the packets that a member sends",
	Proof:  "connecting to it takes longer, by about the delay",
	Target: Follower,
	Params: []Param{
		{"delay", "100ms", "length of the delay; at least 1ms"},
		{"jitter", "0s", "largest deviation from the delay, either way"},
	},
	needs: []need{needsPackets, needsNetem},
	onMember: func(s settings) memberFault {
		delay, jitter := s.duration("delay"), s.duration("jitter")
		if delay < time.Millisecond {
			s.bad("delay", "is less than 1ms")
		}
		if jitter > delay {
			s.bad("jitter", "is more than the delay")
		}
		return func(ctx context.Context, t Target, v targetMember) (Effect, error) {
			return delayLink(ctx, t, v, delay, jitter)
		}
	},
})

func delayLink(ctx context.Context, t Target, v targetMember, delay, jitter time.Duration) (e Effect, err error) {
	if t.Network == nil {
		return e, errNoNetwork
	}
	before, err := roundTrip(ctx, v.Member)
	if err != nil {
		return e, err
	}
	e.ServedClients = servedBy(t, []memberRule{{targetMember: v}})
	remove := func(context.Context) error { return nil }
	err = injectAndProve(ctx,
		func(ctx context.Context) (err error) {
			remove, err = t.Network.Delay(ctx, v.Member, delay, jitter)
			return err
		},
		func() error {
			after, err := roundTrip(ctx, v.Member)
			e.Proof = fmt.Sprintf("connecting to %s took %v before the fault and %v during it", v.Name, before, after)
			if err == nil && after < before+(delay-jitter)*9/10 {
				err = fmt.Errorf("%w: %s", ErrNoEffect, e.Proof)
			}
			return err
		},
		func(ctx context.Context) error { return remove(ctx) })
	e.Undo = remove
	return e, err
}

// roundTrip returns the shortest of five connection times, because load only makes them longer.
func roundTrip(ctx context.Context, m *ensembles.Member) (time.Duration, error) {
	var took []time.Duration
	var errs []error
	for range 5 {
		begin := time.Now()
		c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", m.Addr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		took = append(took, time.Since(begin))
		c.Close()
	}
	if took == nil {
		return 0, fmt.Errorf("%s: %w", m.Name, errors.Join(errs...))
	}
	return slices.Min(took).Round(10 * time.Microsecond), nil
}
