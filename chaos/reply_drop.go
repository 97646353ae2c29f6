package chaos

import "github.com/zkbench/zkbench/chaos/wire"

// reply.drop leaves nothing to heal. The client cannot know whether the request was executed; the
// proof does.
var _ = register(Kind{
	Name:   "reply.drop",
	About:  "lets one request reach the server, and swallows the reply",
	Proof:  "the swallowed reply: its zxid and error code",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(Param{"keep", "false", "true: the connection stays, and the client waits; false: it is cut"}),
	needs:  []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		return onRequest(target, wire.Rule{Act: wire.DropReply, Keep: s.truth("keep")}, s)
	},
})
