package chaos

import "github.com/zkbench/zkbench/chaos/wire"

// wire.delay leaves nothing to heal.
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
		r := wire.Rule{Act: wire.Delay, Delay: s.duration("delay"), Jitter: s.duration("jitter")}
		if r.Delay == 0 {
			s.bad("delay", "delays nothing")
		}
		if r.Jitter > r.Delay {
			s.bad("jitter", "is more than the delay")
		}
		return onRequest(target, r, s)
	},
})
