package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"golang.org/x/sync/errgroup"
)

// session.close acts as the client would: another connection presents the session's ID and password and sends
// closeSession. The server removes the nodes at once; the client is notified when it reconnects.
var _ = register(Kind{
	Name:   "session.close",
	About:  "closes a client's session from another connection: the server removes it at once",
	Proof:  "closeSession was acknowledged, and a member refuses the session's id",
	Target: Holder, Targets: clientTargets,
	needs: []need{needsTap},
	build: func(target string, _ settings) injector {
		once := clientInjector(target, closeSession)
		return func(ctx context.Context, t Target) (Effect, error) {
			e, err := once(ctx, t)
			if errors.Is(err, errAlreadyEnded) && !isSpecificClient(target) {
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

// sessionCloseLimit bounds session.close, which takes milliseconds unless the ensemble has no quorum.
const sessionCloseLimit = 10 * time.Second

var errAlreadyEnded = fmt.Errorf("%w: the session had already ended", ErrNoEffect)

func closeSession(ctx context.Context, t Target, c wire.Client) (Effect, error) {
	s := c.Session()
	addr, err := closeAnywhere(ctx, t, s)
	if err != nil {
		err = fmt.Errorf("close session %#x: %w", s.ID, err)
		if errors.Is(err, errAlreadyEnded) {
			err = untouchedError{err}
		}
		return Effect{}, err
	}
	if addr, err = confirmUnknown(ctx, t, s, addr); err != nil {
		return Effect{}, fmt.Errorf("closeSession of session %#x was acknowledged, but the session's end is not proven: %w", s.ID, err)
	}
	return Effect{Proof: fmt.Sprintf("closeSession was acknowledged; then %s no longer knew session %#x", addr, s.ID)}, nil
}

// confirmUnknown returns the address of a member that does not know the session. It tries first before the others.
func confirmUnknown(ctx context.Context, t Target, s wire.Session, first string) (string, error) {
	known := false
	addr, err := anyMember(ctx, t.Ensemble, first, func(ctx context.Context, addr string) (err error) {
		known, err = s.KnownAt(ctx, addr)
		return err
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: no member reported whether it knows session %#x: %w", ErrNoEffect, s.ID, err)
	case known:
		return "", fmt.Errorf("%w: %s still knows session %#x", ErrNoEffect, addr, s.ID)
	}
	return addr, nil
}

// closeAnywhere closes the session over any member, first over the client's, which need not move the session.
func closeAnywhere(ctx context.Context, t Target, s wire.Session) (string, error) {
	maybeClosed, unknown := false, false
	addr, err := anyMember(ctx, t.Ensemble, s.Server, func(ctx context.Context, addr string) error {
		err := s.CloseAt(ctx, addr)
		if !errors.Is(err, wire.ErrUnknownSession) {
			maybeClosed = maybeClosed || err != nil // it may have closed the session, and its reply was lost
			return err
		}
		unknown = !maybeClosed
		return nil
	})
	if err == nil && unknown {
		return "", errAlreadyEnded
	}
	return addr, err
}

// anyMember calls try with members' client addresses, beginning with first, until it succeeds.
func anyMember(ctx context.Context, e *ensembles.Ensemble, first string, try func(context.Context, string) error) (string, error) {
	servers := slices.DeleteFunc(e.Servers(), func(addr string) bool { return addr == first })
	if first != "" {
		servers = append([]string{first}, servers...)
	}
	var addr string
	err := poll(ctx, sessionCloseLimit, func(ctx context.Context) error {
		var errs []error
		for _, addr = range servers {
			err := try(ctx, addr)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	return addr, err
}

// session.expire has the effect of a crash of the client or its network. It takes a session timeout
// and a tick or two.
var _ = register(Kind{
	Name:        "session.expire",
	About:       "keeps a client disconnected until its session has expired, then lets it reconnect and learn of the expiry",
	Proof:       "the leader no longer lists the session, and a member refuses its id",
	UntilExpiry: true,
	needs:       []need{{about: "the four-letter word dump", checkEnsemble: checkDump}},
	onClient:    fixed(expire),
})

// dumpLimit bounds the wait for a member to refuse dump. Without a reply it is assumed to support the command.
const dumpLimit = time.Second

func checkDump(ctx context.Context, t Target) error {
	ctx, cancel := context.WithTimeout(ctx, dumpLimit)
	defer cancel()
	var queries errgroup.Group
	for _, m := range t.Ensemble.Members {
		queries.Go(func() error {
			if _, err := ensembles.FourLetter(ctx, m, "dump"); errors.Is(err, ensembles.ErrNotWhitelisted) {
				return fmt.Errorf("%w: %w", ErrSkipped, err)
			}
			return nil
		})
	}
	return queries.Wait()
}

// expireMargin is the maximum delay of a session's expiry after its timeout: servers round up to the
// next tick, and an election restarts all timeouts.
const expireMargin = 30 * time.Second

func expire(ctx context.Context, t Target, client wire.Client) (Effect, error) {
	if err := checkDump(ctx, t); err != nil {
		return Effect{}, untouchedError{err}
	}
	defer client.SetGateClosed(false)
	client.SetGateClosed(true)
	client.Cut()
	begin := time.Now()
	proof, err := awaitExpired(ctx, t, client.Session())
	return Effect{Proof: fmt.Sprintf("after %v %s", time.Since(begin).Round(time.Millisecond), proof)}, err
}

// AwaitExpired waits until the servers have expired the session of a client that is cut off or stopped.
func AwaitExpired(ctx context.Context, t Target, client wire.Client) (proof string, err error) {
	if err := checkDump(ctx, t); err != nil {
		return "", err
	}
	return awaitExpired(ctx, t, client.Session())
}

// dumpEvery is the interval at which the leader's sessions are listed: a load while a failover is timed.
const dumpEvery = 20 * time.Millisecond

// awaitExpired waits until the session has expired. A request in the session would keep it alive, so
// the leader's list is read first, until the session was missing twice: a list may miss a session
// whose expiry time is being changed. A session that is listed was acknowledged at most a third of
// its timeout before it was cut off, so the first two thirds are not polled.
func awaitExpired(ctx context.Context, t Target, s wire.Session) (proof string, err error) {
	var leader *ensembles.Member
	absent := 0
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
			absent = 0
			sleepUntil(ctx, earliest)
			return fmt.Errorf("%w: %s still lists session %#x", ErrNoEffect, leader.Name, s.ID)
		}
		if absent++; absent < 2 {
			return fmt.Errorf("%w: only one list of sessions from %s was without session %#x, and two are needed", ErrNoEffect, leader.Name, s.ID)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	addr, err := confirmUnknown(ctx, t, s, leader.Addr)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (leader) no longer listed session %#x, and %s refused it", leader.Name, s.ID, addr), nil
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

// session.flap is a short network failure. The session continues, and must not be taken for lost.
var _ = register(Kind{
	Name:   "session.flap",
	About:  "cuts a client's connection, and lets the client reconnect with the same session",
	Proof:  "the connection was cut, and the same session has a new one",
	Params: []Param{paramDown},
	onClient: func(s settings) clientFault {
		down := s.duration("down")
		return func(ctx context.Context, _ Target, c wire.Client) (Effect, error) {
			begin := time.Now()
			b := disconnect(ctx, []wire.Client{c}, down)[0]
			err := b.awaitReconnected(ctx)
			return Effect{Proof: fmt.Sprintf("%d connection was cut; session %#x had a new connection after %v",
				b.cut, b.session.ID, time.Since(begin).Round(time.Millisecond))}, err
		}
	},
})

var paramDown = Param{"down", "200ms", "how long the client's new connections are refused"}

type disconnection struct {
	client  wire.Client
	session wire.Session // before
	before  int64        // connections that it had made
	cut     int          // connections
}

// disconnect cuts the clients' connections at once, and refuses new ones until down has passed.
func disconnect(ctx context.Context, clients []wire.Client, down time.Duration) []*disconnection {
	all := make([]*disconnection, len(clients))
	for i, c := range clients {
		all[i] = &disconnection{client: c, session: c.Session(), before: c.Counts().Connections}
		defer c.SetGateClosed(false)
		c.SetGateClosed(true)
	}
	for _, b := range all {
		b.cut = b.client.Cut()
	}
	sleepUntil(ctx, time.Now().Add(down))
	return all
}

func (b *disconnection) awaitReconnected(ctx context.Context) error {
	if b.cut == 0 {
		return untouchedError{fmt.Errorf("%w: the client had no connection to cut", ErrNoEffect)}
	}
	var lost error
	err := poll(ctx, b.session.Timeout, func(context.Context) error {
		s := b.client.Session()
		switch {
		case s.ID != b.session.ID || s.Expired:
			lost = fmt.Errorf("%w: session %#x did not survive", ErrNoEffect, b.session.ID)
			return nil
		case s.Server == "" || b.client.Counts().Connections == b.before:
			return fmt.Errorf("%w: the client has not reconnected", ErrNoEffect) // which is impossible without a quorum
		}
		return nil
	})
	return errors.Join(err, lost)
}

// session.storm reproduces a restart of a network switch, as members see it.
var _ = register(Kind{
	Name:   "session.storm",
	About:  "cuts all clients' connections at once, and lets all the clients reconnect at once",
	Proof:  "connections were cut, and the same sessions have new ones",
	Params: []Param{paramDown},
	needs:  []need{needsTap},
	build: func(_ string, s settings) injector {
		down := s.duration("down")
		return func(ctx context.Context, t Target) (Effect, error) { return storm(ctx, t, down) }
	},
})

func storm(ctx context.Context, t Target, down time.Duration) (Effect, error) {
	var clients []wire.Client
	for i, c := range t.Clients {
		if hasLiveSession(t, i) {
			clients = append(clients, c)
		}
	}
	if len(clients) == 0 {
		return Effect{}, fmt.Errorf("%w: none of %d clients has a session", ErrNoEffect, len(t.Clients))
	}
	begin, cut := time.Now(), 0
	for _, b := range disconnect(ctx, clients, down) {
		if err := b.awaitReconnected(ctx); err != nil {
			return Effect{}, fmt.Errorf("client %d: %w", b.client.Number(), err)
		}
		cut += b.cut
	}
	return Effect{
		Target: fmt.Sprintf("%d clients", len(clients)), Client: -1,
		Proof: fmt.Sprintf("%d connections were cut at once; all sessions had new connections after %v", cut, time.Since(begin).Round(time.Millisecond)),
	}, nil
}

// session.freeze delays both directions. Healing delivers all delayed bytes. After the session
// timeout the client acts on a session that has ended.
var _ = register(Kind{
	Name:  "session.freeze",
	About: "holds back all traffic between a client and the members, as if its process were stopped",
	Proof: "the client's requests are held back, or it receives nothing for a while",
	onClient: fixed(func(ctx context.Context, _ Target, c wire.Client) (Effect, error) {
		// Not in inject: on an error its undo would end an earlier hold.
		if err := c.Hold(); err != nil {
			return Effect{}, err
		}
		e := Effect{Undo: func(context.Context) error { c.EndHold(); return nil }}
		return e.inject(ctx, nil, func() (string, error) { return awaitNoTraffic(ctx, c) })
	}),
})

// quietPeriod is the time for which nothing must reach a frozen client that sends nothing.
const quietPeriod = 20 * time.Millisecond

// awaitNoTraffic proves that the hold works: bytes from the client accumulate, or no bytes reach the client for a while.
func awaitNoTraffic(ctx context.Context, client wire.Client) (proof string, err error) {
	last, since := client.Counts().BytesIn, time.Now()
	err = poll(ctx, time.Second, func(context.Context) error {
		c := client.Counts()
		if c.Queued > 0 {
			proof = fmt.Sprintf("%d bytes from the client were held back", c.Queued)
			return nil
		}
		if c.BytesIn != last { // bytes in transit when the hold began
			last, since = c.BytesIn, time.Now()
		}
		if time.Since(since) < quietPeriod {
			return fmt.Errorf("%w: bytes still reach the client", ErrNoEffect)
		}
		proof = fmt.Sprintf("no byte reached the client for %v", quietPeriod)
		return nil
	})
	return proof, err
}

const (
	// silence is the time for which a member must not answer srvr to count as silent, if it
	// answered within half of that before.
	silence = 60 * time.Millisecond
	// lagLimit bounds the delay between a command of a member's owner and its effect.
	lagLimit = 5 * time.Second
	// returnLimit bounds the wait for a healed member to serve: members retry lost peers up to a minute apart.
	returnLimit = 90 * time.Second
)

// silenceOf returns how long a member must not answer to count as silent: longer with TLS or if external.
func silenceOf(m *ensembles.Member) time.Duration {
	if m.Dial != nil || m.External {
		return 15 * silence
	}
	return silence
}

// reachable reports whether the member answers srvr. Any answer counts, even if the member has no quorum.
func reachable(ctx context.Context, m *ensembles.Member, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := ensembles.FourLetter(ctx, m, "srvr")
	return err == nil && answer != "" || errors.Is(err, ensembles.ErrNotWhitelisted)
}

// checkSilent returns nil if a member that answered before no longer answers.
func checkSilent(ctx context.Context, m *ensembles.Member) error {
	try := func(ctx context.Context) error {
		// The member of another owner may be slow once: its commands are not known to have worked.
		if reachable(ctx, m, silenceOf(m)) || m.External && reachable(ctx, m, silenceOf(m)) {
			return fmt.Errorf("%w: %s still answers srvr", ErrNoEffect, m.Name)
		}
		return context.Cause(ctx)
	}
	if m.External {
		return poll(ctx, lagLimit, try)
	}
	return try(ctx)
}

// awaitResponsive waits until a member answers quickly: otherwise its silence would prove nothing.
func awaitResponsive(ctx context.Context, m *ensembles.Member) error {
	err := poll(ctx, memberLimit, func(ctx context.Context) error {
		begin := time.Now()
		if !reachable(ctx, m, silenceOf(m)) || time.Since(begin) > silenceOf(m)/2 {
			return fmt.Errorf("%s did not answer srvr within %v", m.Name, silenceOf(m)/2)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: the member is too slow for its later silence to prove the fault: %w", ErrNoEffect, err)
	}
	return nil
}

func awaitServing(ctx context.Context, m *ensembles.Member) error {
	alone := &ensembles.Ensemble{Members: []*ensembles.Member{m}}
	err := poll(ctx, returnLimit, func(ctx context.Context) error {
		err := ensembles.Status(ctx, alone)[0].Err
		if errors.Is(err, ensembles.ErrNotWhitelisted) {
			return nil // the member is up, but does not report its status
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s has not resumed serving requests: %w", m.Name, err)
	}
	return nil
}
