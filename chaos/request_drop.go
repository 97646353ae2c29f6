package chaos

import "github.com/zkbench/zkbench/chaos/wire"

// request.drop leaves nothing to heal. The client believes that the request was sent.
var _ = register(Kind{
	Name:   "request.drop",
	About:  "takes one request from a client and never delivers it; the connection is cut",
	Proof:  "the request that was taken",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(),
	needs:  []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		return onRequest(target, wire.Rule{Act: wire.DropRequest}, s)
	},
})
