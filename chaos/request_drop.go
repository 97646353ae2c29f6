package chaos

import (
	"context"

	"github.com/zkbench/zkbench/chaos/wire"
)

// requestDrop takes one request from a client, which believes that it was sent,
// and cuts the connection. The server never gets it.
type requestDrop struct{ request }

var _ = register(Kind{
	Name:   "request.drop",
	About:  "takes one request from a client and never delivers it; the connection is cut",
	Proof:  "the request that was taken",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(),
	needs:  []need{needsTap, needsRequest},
	build:  func(target string, s settings) injector { return requestDrop{parseRequest(target, s)} },
})

// inject leaves nothing to heal.
func (f requestDrop) inject(ctx context.Context, t Target) (Effect, error) {
	e, _, err := f.hit(ctx, t, wire.Rule{Act: wire.DropRequest})
	return e, err
}
