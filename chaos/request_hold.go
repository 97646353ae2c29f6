package chaos

import (
	"context"

	"github.com/zkbench/zkbench/chaos/wire"
)

// RequestHold keeps one request of a client, and all that it sends after, until it
// is healed. Replies and notifications still reach the client.
type RequestHold struct{ Aim }

var requestHold = Kind{
	Name:   "request.hold",
	About:  "keeps one request of a client, and all after it, until healed",
	Needs:  "the client's tap; a request that matches",
	Proof:  "the request that is kept",
	Target: Holder, Aims: clientAims,
	Params: aimParams,
	build:  func(target string, s settings) Fault { return RequestHold{aimAt(target, s)} },
}

func (f RequestHold) String() string { return requestHold.Name }

// Inject implements Fault.
func (f RequestHold) Inject(ctx context.Context, t Target) (Effect, error) {
	e, shot, err := f.strike(ctx, f, t, wire.Rule{Act: wire.HoldRequest})
	if err == nil {
		e.Undo = func(context.Context) error { shot.Release(); return nil }
	}
	return e, err
}
