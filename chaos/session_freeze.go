package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// session.freeze delays both directions. Healing delivers all delayed bytes. After the session
// timeout the client acts on a session that has ended.
var _ = register(Kind{
	Name:   "session.freeze",
	About:  "holds back all traffic between a client and the members, as if its process were stopped",
	Proof:  "the client's requests are held back, or it receives nothing for a while",
	Target: Holder, Targets: clientTargets,
	Params: []Param{{"mode", "deaf", "deaf: the client's timeouts do not run (a paused process); stall: they run (a dead network)"}},
	needs:  []need{needsTap},
	build: func(target string, s settings) injector {
		mode := wire.Deaf
		if s.choice("mode", "deaf", "stall") == "stall" {
			mode = wire.Stall
		}
		return onClient(target, func(ctx context.Context, _ Target, c wire.Client) (e Effect, err error) {
			// Outside of act, which undoes: an earlier hold must not end here.
			if err := c.Hold(mode); err != nil {
				return e, err
			}
			e.Undo = func(context.Context) error { c.Thaw(); return nil }
			err = act(ctx, nil, func() (err error) { e.Proof, err = still(ctx, c); return err }, e.Undo)
			return e, err
		})
	},
})

// stillness is the time for which nothing must reach a frozen client that sends nothing.
const stillness = 20 * time.Millisecond

// still proves that nothing passes: the client's bytes accumulate, or none reach it for a while.
func still(ctx context.Context, client wire.Client) (proof string, err error) {
	last, since := client.Counts().BytesIn, time.Now()
	err = poll(ctx, time.Second, func(context.Context) error {
		c := client.Counts()
		if c.Queued > 0 {
			proof = fmt.Sprintf("%d bytes of the client's were kept back", c.Queued)
			return nil
		}
		if c.BytesIn != last { // bytes in transit when the hold began
			last, since = c.BytesIn, time.Now()
		}
		if time.Since(since) < stillness {
			return fmt.Errorf("%w: bytes still reach the client", ErrNoEffect)
		}
		proof = fmt.Sprintf("not a byte reached the client for %v", stillness)
		return nil
	})
	return proof, err
}
