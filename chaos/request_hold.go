package chaos

import (
	"context"

	"github.com/zkbench/zkbench/chaos/wire"
)

// requestHold keeps one request of a client, and all that it sends after, until it
// is healed. Replies and notifications still reach the client.
type requestHold struct{ request }

var _ = register(Kind{
	Name:   "request.hold",
	About:  "keeps one request of a client, and all after it, until healed",
	Proof:  "the request that is kept",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(),
	needs:  []need{needsTap, needsRequest},
	build:  func(target string, s settings) injector { return requestHold{parseRequest(target, s)} },
})

func (f requestHold) inject(ctx context.Context, t Target) (Effect, error) {
	e, shot, err := f.hit(ctx, t, wire.Rule{Act: wire.HoldRequest})
	if err == nil {
		e.Undo = func(context.Context) error { shot.Release(); return nil }
	}
	return e, err
}
