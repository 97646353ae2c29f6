package chaos

import (
	"context"

	"github.com/zkbench/zkbench/chaos/wire"
)

// ReplyDrop lets one request reach the server and swallows the reply: the client
// cannot know whether it was carried out, and we can.
type ReplyDrop struct {
	Aim
	Keep bool // the connection stays; else it is cut
}

var replyDrop = Kind{
	Name:   "reply.drop",
	About:  "lets one request reach the server, and swallows the reply",
	Needs:  "the client's tap; a request that matches",
	Proof:  "the swallowed reply: its zxid and error code",
	Target: Holder, Aims: clientAims,
	Params: append(aimParams[:len(aimParams):len(aimParams)], Param{"keep", "false", "true: the connection stays, and the client waits; false: it is cut"}),
	build: func(target string, s settings) Fault {
		return ReplyDrop{Aim: aimAt(target, s), Keep: s.truth("keep")}
	},
}

func (f ReplyDrop) String() string { return replyDrop.Name }

// Inject implements Fault. There is nothing to heal.
func (f ReplyDrop) Inject(ctx context.Context, t Target) (Effect, error) {
	e, _, err := f.strike(ctx, f, t, wire.Rule{Act: wire.DropReply, Keep: f.Keep})
	return e, err
}
