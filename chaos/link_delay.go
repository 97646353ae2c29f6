package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// linkDelay delays the packets that a member sends, as distance does. It needs the
// kernel's network emulator.
type linkDelay struct {
	member string // Leader, Follower, Any or a member's name
	delay  time.Duration
	jitter time.Duration // at most so much more or less, by the kernel's choice
}

var _ = register(Kind{
	Name:   "link.delay",
	About:  "delays the packets that a member sends",
	Proof:  "connecting to it takes longer by the delay",
	Target: Follower, Targets: memberTargets,
	Params: []Param{
		{"delay", "100ms", "how long, at least 1ms"},
		{"jitter", "0s", "at most so much more or less"},
	},
	needs: []need{needsNetwork, needsNetem},
	build: func(target string, s settings) injector {
		f := linkDelay{member: target, delay: s.duration("delay"), jitter: s.duration("jitter")}
		if f.delay < time.Millisecond {
			s.bad("delay", "is less than 1ms")
		}
		if f.jitter > f.delay {
			s.bad("jitter", "is more than the delay")
		}
		return f
	},
})

func (f linkDelay) inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMember(ctx, t, f.member)
	if err != nil {
		return Effect{}, err
	}
	if t.Network == nil {
		return Effect{}, errNoNetwork
	}
	before, err := roundTrip(ctx, v.Member)
	if err != nil {
		return Effect{}, err
	}
	var after time.Duration
	remove := func(context.Context) error { return nil }
	err = act(ctx,
		func(ctx context.Context) (err error) {
			remove, err = t.Network.delay(ctx, v.Member, f.delay, f.jitter)
			return err
		},
		func() error {
			if after, err = roundTrip(ctx, v.Member); err == nil && after < before+(f.delay-f.jitter)*9/10 {
				err = fmt.Errorf("%w: connecting to %s took %v before and %v after", ErrNoEffect, v.Name, before, after)
			}
			return err
		},
		func(ctx context.Context) error { return remove(ctx) })
	if err != nil {
		return Effect{}, err
	}
	return Effect{
		Target: v.String(), Client: -1, Undo: remove,
		Proof: fmt.Sprintf("connecting to %s took %v before and %v after", v.Name, before, after),
	}, nil
}

// roundTrip returns the shortest time of five connections to the member: a busy
// machine only adds to it.
func roundTrip(ctx context.Context, m *ensembles.Member) (time.Duration, error) {
	least := time.Duration(-1)
	var errs []error
	for range 5 {
		begin := time.Now()
		c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", m.Addr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.Close()
		if d := time.Since(begin); least < 0 || d < least {
			least = d
		}
	}
	if least < 0 {
		return 0, fmt.Errorf("%s: %w", m.Name, errors.Join(errs...))
	}
	return least.Round(10 * time.Microsecond), nil
}
