package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// session.expire has the effect of a crash of the client or its network. It takes a session timeout
// and a tick or two.
var _ = register(Kind{
	Name:   "session.expire",
	About:  "keeps a client away until its session has expired, then lets it connect and learn of it",
	Proof:  "the leader no longer lists the session, and a member refuses its id",
	Target: Holder, Targets: clientTargets, Lasts: true,
	needs: []need{needsTap, {about: "the four-letter word dump", lacking: noDump}},
	build: func(target string, _ settings) injector { return onClient(target, expire) },
})

// dumpLimit bounds a member's refusal of dump. A member that does not reply in time may support it.
const dumpLimit = time.Second

// noDump returns an error if a member does not list its sessions.
func noDump(ctx context.Context, t Target) error {
	ctx, cancel := context.WithTimeout(ctx, dumpLimit)
	defer cancel()
	var asked errgroup.Group
	for _, m := range t.Ensemble.Members {
		asked.Go(func() error {
			if _, err := ensembles.FourLetter(ctx, m, "dump"); errors.Is(err, ensembles.ErrNotWhitelisted) {
				return fmt.Errorf("%w: %w", ErrSkipped, err)
			}
			return nil
		})
	}
	return asked.Wait()
}

// expireMargin is the maximum delay of a session's expiry after its timeout: servers round up to the
// next tick, and an election restarts all timeouts.
const expireMargin = 30 * time.Second

func expire(ctx context.Context, t Target, client wire.Client) (Effect, error) {
	if err := noDump(ctx, t); err != nil {
		return Effect{}, untouched{err}
	}
	defer client.Gate(false)
	client.Gate(true)
	client.Cut()
	begin := time.Now()
	proof, err := expired(ctx, t, client.Session())
	return Effect{Proof: fmt.Sprintf("after %v %s", time.Since(begin).Round(time.Millisecond), proof)}, err
}

// Expired waits until the servers have expired the session of a client that is cut off or stopped,
// and returns the proof.
func Expired(ctx context.Context, t Target, client wire.Client) (proof string, err error) {
	if err := noDump(ctx, t); err != nil {
		return "", err
	}
	return expired(ctx, t, client.Session())
}

// dumpEvery is the interval at which the leader's sessions are listed. The list is a load on the
// leader while a failover is timed.
const dumpEvery = 20 * time.Millisecond

// expired waits until the session has expired. A request for the session would keep it alive, so
// the leader's list is read first, until the session was missing twice: a list may miss a session
// whose expiry time is being changed. A session that is listed was acknowledged at most a third of
// its timeout before it was cut off, so the first two thirds are not polled.
func expired(ctx context.Context, t Target, s wire.Session) (proof string, err error) {
	var leader *ensembles.Member
	lacked := 0
	earliest := time.Now().Add(s.Timeout * 2 / 3)
	err = pollAt(ctx, dumpEvery, s.Timeout+expireMargin, func(ctx context.Context) (err error) {
		if leader, err = ensembles.Leader(ctx, t.Ensemble); err != nil {
			return err
		}
		list, err := ensembles.FourLetter(ctx, leader, "dump")
		if err != nil {
			return err
		}
		if !strings.Contains(list, "Session Sets") {
			return fmt.Errorf("%s is no longer the leader", leader.Name)
		}
		if listsSession(list, s.ID) {
			lacked = 0
			sleepUntil(ctx, earliest)
			return fmt.Errorf("%w: %s still lists session %#x", ErrNoEffect, leader.Name, s.ID)
		}
		if lacked++; lacked < 2 {
			return fmt.Errorf("%w: %s has lacked session %#x for one list only", ErrNoEffect, leader.Name, s.ID)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	asked, err := unknown(ctx, t, s, leader.Addr)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (leader) no longer listed session %#x, and %s refused it", leader.Name, s.ID, asked), nil
}

// listsSession parses the reply to dump, which has session IDs in hexadecimal.
func listsSession(dump string, id int64) bool {
	want := fmt.Sprintf("%#x", uint64(id))
	for field := range strings.FieldsSeq(dump) {
		if strings.TrimSuffix(field, ":") == want {
			return true
		}
	}
	return false
}
