package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// LinkDelay delays the packets that a member sends, as distance does. It needs the
// kernel's network emulator.
type LinkDelay struct {
	Member string // Leader, Follower, Any or a member's name
	Delay  time.Duration
	Jitter time.Duration // at most so much more or less, by the kernel's choice
}

var linkDelay = Kind{
	Name:   "link.delay",
	About:  "delays the packets that a member sends",
	Needs:  needsNetwork + "; a kernel with netem (modprobe sch_netem)",
	Proof:  "connecting to it takes longer by the delay",
	Target: Follower, Aims: memberAims, Members: true,
	Params: []Param{
		{"delay", "100ms", "how long, at least 1ms"},
		{"jitter", "0s", "at most so much more or less"},
	},
	build: func(target string, s settings) Fault {
		f := LinkDelay{Member: target, Delay: s.duration("delay"), Jitter: s.duration("jitter")}
		if f.Delay < time.Millisecond {
			s.bad("delay", "is less than 1ms")
		}
		if f.Jitter > f.Delay {
			s.bad("jitter", "is more than the delay")
		}
		return f
	},
}

func (f LinkDelay) String() string { return linkDelay.Name }

// Inject implements Fault.
func (f LinkDelay) Inject(ctx context.Context, t Target) (Effect, error) {
	e, err := f.inject(ctx, t)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return e, nil
}

func (f LinkDelay) inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMember(ctx, t, f.Member)
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
	lift := func(context.Context) error { return nil }
	err = act(ctx,
		func(ctx context.Context) (err error) {
			lift, err = t.Network.slow(ctx, v.Member, f.Delay, f.Jitter)
			return err
		},
		func() error {
			if after, err = roundTrip(ctx, v.Member); err == nil && after < before+(f.Delay-f.Jitter)*9/10 {
				err = fmt.Errorf("%w: connecting to %s took %v before and %v after", ErrNoEffect, v.Name, before, after)
			}
			return err
		},
		func(ctx context.Context) error { return lift(ctx) })
	if err != nil {
		return Effect{}, err
	}
	return Effect{
		Target: v.String(), Client: -1, Undo: lift,
		Proof: fmt.Sprintf("connecting to %s took %v before and %v after", v.Name, before, after),
	}, nil
}

// roundTrip is the least time that five connections to the member took: the
// least, because a busy machine only ever adds.
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
