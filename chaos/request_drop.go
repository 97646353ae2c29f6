package chaos

import (
	"context"

	"github.com/zkbench/zkbench/chaos/wire"
)

// RequestDrop takes one request from a client, which believes that it was sent,
// and cuts the connection. The server never hears of it.
type RequestDrop struct{ Aim }

var requestDrop = Kind{
	Name:   "request.drop",
	About:  "takes one request from a client and never delivers it; the connection is cut",
	Needs:  "the client's tap; a request that matches",
	Proof:  "the request that was taken",
	Target: Holder, Aims: clientAims,
	Params: aimParams,
	build:  func(target string, s settings) Fault { return RequestDrop{aimAt(target, s)} },
}

func (f RequestDrop) String() string { return requestDrop.Name }

// Inject implements Fault. There is nothing to heal.
func (f RequestDrop) Inject(ctx context.Context, t Target) (Effect, error) {
	e, _, err := f.strike(ctx, f, t, wire.Rule{Act: wire.DropRequest})
	return e, err
}
