package chaos

import (
	"context"

	"github.com/zkbench/zkbench/chaos/wire"
)

// replyDrop lets one request reach the server and swallows the reply: the client
// cannot know whether the request was carried out, and the proof says it.
type replyDrop struct {
	request
	keep bool // the connection stays; else it is cut
}

var _ = register(Kind{
	Name:   "reply.drop",
	About:  "lets one request reach the server, and swallows the reply",
	Proof:  "the swallowed reply: its zxid and error code",
	Target: Holder, Targets: clientTargets,
	Params: requestParams(Param{"keep", "false", "true: the connection stays, and the client waits; false: it is cut"}),
	needs:  []need{needsTap, needsRequest},
	build: func(target string, s settings) injector {
		return replyDrop{parseRequest(target, s), s.truth("keep")}
	},
})

// inject leaves nothing to heal.
func (f replyDrop) inject(ctx context.Context, t Target) (Effect, error) {
	e, _, err := f.hit(ctx, t, wire.Rule{Act: wire.DropReply, Keep: f.keep})
	return e, err
}
