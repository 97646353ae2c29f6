package chaos

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// wireDelay keeps one request of a client, and all that it sends after, for a while.
type wireDelay struct {
	request
	delay  time.Duration
	jitter time.Duration // at most so much more or less
}

var _ = register(Kind{
	Name:   "wire.delay",
	About:  "delivers one request of a client, and all after it, late",
	Proof:  "the request, and how long it was kept",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(
		Param{"delay", "500ms", "how long"},
		Param{"jitter", "0s", "at most so much more or less, by the seed"}),
	needs: []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		f := wireDelay{request: parseRequest(target, s), delay: s.duration("delay"), jitter: s.duration("jitter")}
		if f.delay == 0 {
			s.bad("delay", "delays nothing")
		}
		if f.jitter > f.delay {
			s.bad("jitter", "is more than the delay")
		}
		return f
	},
})

// inject leaves nothing to heal.
func (f wireDelay) inject(ctx context.Context, t Target) (Effect, error) {
	e, _, err := f.hit(ctx, t, wire.Rule{Act: wire.Delay, Delay: f.delay, Jitter: f.jitter})
	return e, err
}
