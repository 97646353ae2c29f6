package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// sessionClose closes a client's session as if the client had: another connection
// shows the session's id and password and sends closeSession. The server forgets
// the session and removes its nodes at once; the client learns of it when it
// reconnects. That is the quickest way to lose a session without waiting for its
// timeout.
type sessionClose struct {
	client string // Holder, Waiter, Random or a client's number
}

var _ = register(Kind{
	Name:   "session.close",
	About:  "closes a client's session from another connection: the server forgets it at once",
	Proof:  "closeSession was acknowledged, and a member refuses the session's id",
	Target: Holder, Targets: clientTargets,
	needs: []need{needsTap},
	build: func(target string, _ settings) injector { return sessionClose{client: target} },
})

// sessionCloseLimit bounds the fault: it takes a few milliseconds, unless the
// ensemble is without a quorum.
const sessionCloseLimit = 10 * time.Second

// errGoneBefore says that there was no session to close.
var errGoneBefore = fmt.Errorf("%w: the session was gone before", ErrNoEffect)

func (f sessionClose) inject(ctx context.Context, t Target) (Effect, error) {
	effect, err := f.close(ctx, t)
	if err != nil && errors.Is(err, errGoneBefore) && !fixed(f.client) {
		// Another fault has ended the session of the client that was picked, and the
		// client does not know yet. Another client is the target, or will be.
		err = poll(ctx, t.clientLimit(), func(ctx context.Context) error {
			effect, err = f.close(ctx, t)
			return err
		})
	}
	if err != nil {
		return Effect{}, err
	}
	return effect, nil
}

// close closes the session of the client that it picks.
func (f sessionClose) close(ctx context.Context, t Target) (Effect, error) {
	n, name, err := pickClient(ctx, t, f.client)
	if err != nil {
		return Effect{}, err
	}
	s := t.Clients[n].Session()
	asked, err := closeAnywhere(ctx, t, s)
	if err != nil {
		return Effect{}, fmt.Errorf("close session %#x of %s: %w", s.ID, name, err)
	}
	var known bool
	_, err = anyMember(ctx, t.Ensemble, asked, func(ctx context.Context, addr string) (err error) {
		known, err = s.KnownAt(ctx, addr)
		return err
	})
	if err != nil || known {
		return Effect{}, fmt.Errorf("%w: session %#x of %s was closed, and still known: %v (%w)", ErrNoEffect, s.ID, name, known, err)
	}
	return Effect{
		Target: name, Client: n,
		Proof: fmt.Sprintf("closeSession was acknowledged; then %s no longer knew session %#x", asked, s.ID),
	}, nil
}

// closeAnywhere closes the session over any member, and returns the member's address.
// The client's own member comes first: it need not move the session.
func closeAnywhere(ctx context.Context, t Target, s wire.Session) (string, error) {
	maybe, gone := false, false
	asked, err := anyMember(ctx, t.Ensemble, s.Server, func(ctx context.Context, addr string) error {
		err := s.CloseAt(ctx, addr)
		if !errors.Is(err, wire.ErrUnknownSession) {
			maybe = maybe || err != nil // it may have closed the session, and its answer was lost
			return err
		}
		gone = !maybe
		return nil
	})
	if err == nil && gone {
		return "", errGoneBefore
	}
	return asked, err
}

// anyMember calls try with members' client addresses, that of first before all
// others, until it succeeds, and returns the one with which it did.
func anyMember(ctx context.Context, e *ensembles.Ensemble, first string, try func(context.Context, string) error) (string, error) {
	servers := slices.DeleteFunc(e.Servers(), func(addr string) bool { return addr == first })
	if first != "" {
		servers = append([]string{first}, servers...)
	}
	var asked string
	err := poll(ctx, sessionCloseLimit, func(ctx context.Context) error {
		var errs []error
		for _, asked = range servers {
			err := try(ctx, asked)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	return asked, err
}
