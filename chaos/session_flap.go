package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// session.flap is a short network failure. The session continues, and must not be taken for lost.
var _ = register(Kind{
	Name:   "session.flap",
	About:  "cuts a client's connection, and lets it come back with the same session",
	Proof:  "the connection was cut, and the same session has another one",
	Target: Holder, Targets: clientTargets,
	Params: []Param{paramDown},
	needs:  []need{needsTap},
	build: func(target string, s settings) injector {
		down := s.duration("down")
		return onClient(target, func(ctx context.Context, _ Target, c wire.Client) (Effect, error) {
			begin := time.Now()
			b := disconnect(ctx, []wire.Client{c}, down)[0]
			err := b.back(ctx)
			return Effect{Proof: fmt.Sprintf("%d connection cut; session %#x had another one after %v",
				b.cut, b.session.ID, time.Since(begin).Round(time.Millisecond))}, err
		})
	},
})

var paramDown = Param{"down", "200ms", "how long a client that was cut off must not connect"}

// disconnection is a client that was cut off.
type disconnection struct {
	client  wire.Client
	session wire.Session // before
	counts  wire.Counts  // before
	cut     int          // connections
}

// disconnect cuts the clients' connections at once, and refuses new ones until down has passed.
func disconnect(ctx context.Context, clients []wire.Client, down time.Duration) []*disconnection {
	all := make([]*disconnection, len(clients))
	for i, c := range clients {
		all[i] = &disconnection{client: c, session: c.Session(), counts: c.Counts()}
		defer c.Gate(false)
		c.Gate(true)
	}
	for _, b := range all {
		b.cut = b.client.Cut()
	}
	sleepUntil(ctx, time.Now().Add(down))
	return all
}

// back waits until the client's session is on another connection.
func (b *disconnection) back(ctx context.Context) error {
	if b.cut == 0 {
		return untouched{fmt.Errorf("%w: it had no connection to cut", ErrNoEffect)}
	}
	var gone error
	err := poll(ctx, b.session.Timeout, func(context.Context) error {
		s := b.client.Session()
		switch {
		case s.ID != b.session.ID || s.Expired:
			gone = fmt.Errorf("%w: session %#x did not survive", ErrNoEffect, b.session.ID)
			return nil
		case s.Server == "" || b.client.Counts().Connections == b.counts.Connections:
			return fmt.Errorf("%w: it has not come back", ErrNoEffect) // nor can it, without a quorum
		}
		return nil
	})
	return errors.Join(err, gone)
}
