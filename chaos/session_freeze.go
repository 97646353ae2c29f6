package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// sessionFreeze keeps back everything between a client and the members, in both
// directions: to the servers the client's process stands still. Healing delivers it
// all, late. If that is later than the session's timeout, the client acts on a session
// that is gone.
type sessionFreeze struct {
	client string        // Holder, Waiter, Random or a client's number
	mode   wire.HoldMode // Deaf: the client's timeouts stand still too; Stall: they run
}

var _ = register(Kind{
	Name:   "session.freeze",
	About:  "keeps back everything between a client and the members, as if its process stood still",
	Proof:  "what the client sends is kept back, or nothing reaches it for a while",
	Target: Holder, Targets: clientTargets,
	Params: []Param{{"mode", "deaf", "deaf: the client's timeouts stand still (a paused process); stall: they run (a dead network)"}},
	needs:  []need{needsTap},
	build: func(target string, s settings) injector {
		f := sessionFreeze{client: target, mode: wire.Deaf}
		if s.choice("mode", "deaf", "stall") == "stall" {
			f.mode = wire.Stall
		}
		return f
	},
})

// stillness is how long nothing must reach a frozen client that sends nothing itself.
const stillness = 20 * time.Millisecond

func (f sessionFreeze) inject(ctx context.Context, t Target) (Effect, error) {
	n, name, err := pickClient(ctx, t, f.client)
	if err != nil {
		return Effect{}, err
	}
	client, proof := t.Clients[n], ""
	thaw := func(context.Context) error { client.Thaw(); return nil }
	// Outside of act, which undoes: a hold that was there before must not end here.
	if err = client.Hold(f.mode); err == nil {
		err = act(ctx, nil, func() (err error) { proof, err = still(ctx, client); return err }, thaw)
	}
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", name, err)
	}
	return Effect{Target: name, Client: n, Proof: proof, Undo: thaw}, nil
}

// still proves that nothing passes: the client's bytes pile up, or none reach it
// for a while.
func still(ctx context.Context, client *wire.Client) (proof string, err error) {
	last, since := client.Counts().BytesIn, time.Now()
	err = poll(ctx, time.Second, func(context.Context) error {
		c := client.Counts()
		if c.Queued > 0 {
			proof = fmt.Sprintf("%d bytes of the client's were kept back", c.Queued)
			return nil
		}
		if c.BytesIn != last { // what the client was reading when the hold came
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
