package chaos

import (
	"context"
	"fmt"
	"net"
	"slices"
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
	Params: []Param{{"percent", "5", "the share, from 0.01 to 100"}},
	needs:  []need{needsPackets},
	onMember: func(s settings) memberFault {
		return dropShare(network.Rule{Loss: s.percent("percent")})
	},
})

func dropShare(r network.Rule) memberFault {
	return func(ctx context.Context, t Target, v targetMember) (Effect, error) {
		list := []memberRule{{v, r}}
		served := servedBy(t, list)
		e, err := newPartition(ctx, t, list, func(p *partition) (string, error) {
			d, err := p.dropped(ctx, func(m *ensembles.Member) { reachable(ctx, m, silence) })
			return fmt.Sprintf("%d packets were dropped (%s)", d, r), err
		})
		e.ServedClients = served
		return e, err
	}
}

var _ = register(Kind{
	Name:   "link.delay",
	About:  "delays the packets that a member sends",
	Proof:  "connecting to it takes longer, by about the delay",
	Target: Follower,
	Params: []Param{{"delay", "100ms", "length of the delay; at least 1ms"}},
	needs:  []need{needsPackets, needsNetem},
	onMember: func(s settings) memberFault {
		delay := s.duration("delay")
		if delay < time.Millisecond {
			s.bad("delay", "is less than 1ms")
		}
		return func(ctx context.Context, t Target, v targetMember) (Effect, error) {
			return delayLink(ctx, t, v, delay)
		}
	},
})

func delayLink(ctx context.Context, t Target, v targetMember, delay time.Duration) (e Effect, err error) {
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
			remove, err = t.Network.Delay(ctx, v.Member, delay)
			return err
		},
		func() error {
			after, err := roundTrip(ctx, v.Member)
			e.Proof = fmt.Sprintf("connecting to %s took %v before the fault and %v during it", v.Name, before, after)
			if err == nil && after < before+delay*9/10 {
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
	var last error
	for range 5 {
		begin := time.Now()
		c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", m.Addr)
		if last = err; err == nil {
			took = append(took, time.Since(begin))
			c.Close()
		}
	}
	if took == nil {
		return 0, fmt.Errorf("%s: %w", m.Name, last)
	}
	return slices.Min(took).Round(10 * time.Microsecond), nil
}
