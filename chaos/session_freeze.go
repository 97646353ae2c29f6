package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// SessionFreeze keeps back everything between a client and the members, and tells
// the client nothing: to the servers the client's process stands still. Healing
// delivers it all, late. If that is later than the session's timeout the client
// acts on a session that is gone.
type SessionFreeze struct {
	Client string        // Holder, Waiter, Random or a client's number
	Mode   wire.HoldMode // Deaf: the client's timeouts stand still too; Stall: they run
}

var sessionFreeze = Kind{
	Name:   "session.freeze",
	About:  "keeps back everything between a client and the members, as if its process stood still",
	Needs:  "the client's tap",
	Proof:  "what the client sends is kept back, or nothing reaches it for a while",
	Target: Holder, Aims: clientAims,
	Params: []Param{{"mode", "deaf", "deaf: the client's timeouts stand still (a paused process); stall: they run (a dead network)"}},
	build: func(target string, s settings) Fault {
		f := SessionFreeze{Client: target, Mode: wire.Deaf}
		if s.choice("mode", "deaf", "stall") == "stall" {
			f.Mode = wire.Stall
		}
		return f
	},
}

func (f SessionFreeze) String() string { return sessionFreeze.Name }

// stillness is how long nothing must reach a frozen client that sends nothing itself.
const stillness = 20 * time.Millisecond

// Inject implements Fault.
func (f SessionFreeze) Inject(ctx context.Context, t Target) (Effect, error) {
	n, name, err := pickClient(ctx, t, f.Client)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	client, proof := t.Clients[n], ""
	thaw := func(context.Context) error { client.Thaw(); return nil }
	// Outside of act: a hold that somebody else made is not ours to end.
	if err = client.Hold(f.Mode); err == nil {
		err = act(ctx, func(context.Context) error { return nil },
			func() (err error) { proof, err = still(ctx, client); return err }, thaw)
	}
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %s: %w", f, name, err)
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
