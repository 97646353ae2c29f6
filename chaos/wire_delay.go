package chaos

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// WireDelay keeps one request of a client, and all that it sends after, for a while.
type WireDelay struct {
	Aim
	Delay  time.Duration
	Jitter time.Duration // at most so much more or less
}

var wireDelay = Kind{
	Name:   "wire.delay",
	About:  "delivers one request of a client, and all after it, late",
	Needs:  "the client's tap; a request that matches",
	Proof:  "the request, and how long it was kept",
	Target: Holder, Aims: clientAims,
	Params: append(aimParams[:len(aimParams):len(aimParams)],
		Param{"delay", "500ms", "how long"},
		Param{"jitter", "0s", "at most so much more or less, by the seed"}),
	build: func(target string, s settings) Fault {
		f := WireDelay{Aim: aimAt(target, s), Delay: s.duration("delay"), Jitter: s.duration("jitter")}
		if f.Delay == 0 {
			s.bad("delay", "delays nothing")
		}
		if f.Jitter > f.Delay {
			s.bad("jitter", "is more than the delay")
		}
		return f
	},
}

func (f WireDelay) String() string { return wireDelay.Name }

// Inject implements Fault. There is nothing to heal.
func (f WireDelay) Inject(ctx context.Context, t Target) (Effect, error) {
	e, _, err := f.strike(ctx, f, t, wire.Rule{Act: wire.Delay, Delay: f.Delay, Jitter: f.Jitter})
	return e, err
}
