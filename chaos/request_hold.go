package chaos

import "github.com/zkbench/zkbench/chaos/wire"

// request.hold lets replies and notifications pass.
var _ = register(Kind{
	Name:   "request.hold",
	About:  "keeps one request of a client, and all after it, until healed",
	Proof:  "the request that is kept",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(),
	needs:  []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		return onRequest(target, wire.Rule{Act: wire.HoldRequest}, s)
	},
})
