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

// session.close acts as the client would: another connection presents the session's ID and password
// and sends closeSession. The server removes the session's nodes at once; the client is notified
// when it reconnects. It is the fastest way to lose a session.
var _ = register(Kind{
	Name:   "session.close",
	About:  "closes a client's session from another connection: the server forgets it at once",
	Proof:  "closeSession was acknowledged, and a member refuses the session's id",
	Target: Holder, Targets: clientTargets,
	needs: []need{needsTap},
	build: func(target string, _ settings) injector {
		once := onClient(target, closeSession)
		return func(ctx context.Context, t Target) (Effect, error) {
			e, err := once(ctx, t)
			if errors.Is(err, errGoneBefore) && !fixed(target) {
				// Another fault has ended the session of the client, which does not know yet.
				// Another client is or becomes the target.
				err = poll(ctx, t.clientLimit(), func(ctx context.Context) (err error) {
					e, err = once(ctx, t)
					return err
				})
			}
			return e, err
		}
	},
})

// sessionCloseLimit bounds the fault: it takes a few milliseconds unless the ensemble has no
// quorum.
const sessionCloseLimit = 10 * time.Second

// errGoneBefore means that there was no session to close.
var errGoneBefore = fmt.Errorf("%w: the session was gone before", ErrNoEffect)

func closeSession(ctx context.Context, t Target, c wire.Client) (Effect, error) {
	s := c.Session()
	asked, err := closeAnywhere(ctx, t, s)
	if err != nil {
		err = fmt.Errorf("close session %#x: %w", s.ID, err)
		if errors.Is(err, errGoneBefore) {
			err = untouched{err}
		}
		return Effect{}, err
	}
	if asked, err = unknown(ctx, t, s, asked); err != nil {
		return Effect{}, fmt.Errorf("session %#x was closed: %w", s.ID, err)
	}
	return Effect{Proof: fmt.Sprintf("closeSession was acknowledged; then %s no longer knew session %#x", asked, s.ID)}, nil
}

// unknown returns the address of a member that does not know the session, beginning with first. A
// member that knows it is an error.
func unknown(ctx context.Context, t Target, s wire.Session, first string) (string, error) {
	known := false
	asked, err := anyMember(ctx, t.Ensemble, first, func(ctx context.Context, addr string) (err error) {
		known, err = s.KnownAt(ctx, addr)
		return err
	})
	if err != nil || known {
		return "", errors.Join(fmt.Errorf("%w: session %#x: %s knows it: %v", ErrNoEffect, s.ID, asked, known), err)
	}
	return asked, nil
}

// closeAnywhere closes the session over any member, and returns the member's address. The client's
// own member is first: it need not move the session.
func closeAnywhere(ctx context.Context, t Target, s wire.Session) (string, error) {
	maybe, gone := false, false
	asked, err := anyMember(ctx, t.Ensemble, s.Server, func(ctx context.Context, addr string) error {
		err := s.CloseAt(ctx, addr)
		if !errors.Is(err, wire.ErrUnknownSession) {
			maybe = maybe || err != nil // it may have closed the session, and its reply was lost
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

// anyMember calls try with members' client addresses, beginning with first, until it succeeds, and
// returns that address.
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
