package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

func (c *client) open(ctx context.Context) error {
	st := c.st
	subject, err := st.cell.Subject.Open(ctx, recipes.Env{
		Servers: rotated(st.members.ensemble.Servers(), c.n+st.shift), Parent: st.parent, Timeout: st.scenario.SessionTimeout,
		Dial: c.dialer(), MaxPacket: st.packet(), Events: c.event,
		Auth: authFor(st.members.ensemble), ACL: aclFor(st.members.ensemble),
		Client: c.n, Connect: c.listeners, Resource: st.resource(), Seen: c.seen, Requests: c.requests, Served: st.served,
	})
	if err != nil {
		return fmt.Errorf("client %d: %w", c.n, err)
	}
	if err := st.accept(subject); err != nil {
		return errors.Join(err, subject.Close(ctx))
	}
	c.subject.Store(&subject)
	return nil
}

// rotated returns the servers in order, beginning with the n-th.
func rotated(servers []string, n int) []string {
	k := n % len(servers)
	return slices.Concat(servers[k:], servers[:k])
}

func (c *client) dialer() zk.Dialer { return zk.Dialer(c.before(c.wire.Dial)) }

func (c *client) before(tap wire.Dialer) wire.Dialer {
	if c.st.dial != nil {
		tap = c.st.dial(tap)
	}
	if c.st.joint != nil && c.n == c.st.cell.aims[0].step.client() {
		tap = c.st.joint.lead(c.wire, tap)
	}
	return tap
}

// listeners returns the addresses of the members for a client in another process: listeners with
// the tap behind them, in the order in which the client should try them.
func (c *client) listeners() (addrs []string, err error) {
	between := c.before
	if c.st.dial == nil && c.st.joint == nil {
		between = nil
	}
	for _, server := range rotated(c.st.members.ensemble.Servers(), c.n+c.st.shift) {
		addr, err := c.wire.Listen(server, between)
		if err != nil {
			return nil, fmt.Errorf("client %d: a listener for %s: %w", c.n, server, err)
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// seen returns the tap's view of the client: its session, and the session's newest node in the
// queue.
func (c *client) seen() recipes.Claim {
	n, _ := c.wire.Node(c.st.parent)
	return recipes.Claim{Session: c.wire.Session().ID, Path: n.Path, Token: n.Czxid}
}

// requests returns the number of requests that the client has sent, without pings and
// authentication.
func (c *client) requests() int64 {
	sent := c.wire.Counts().Requests
	return sent.Total() - sent.Of(wire.Auth) - sent.Of(wire.SASL) - sent.Of(wire.SetWatches) - sent.Of(wire.SetWatches2)
}

func (c *client) opened() bool { return c.subject.Load() != nil }

func (c *client) close() {
	id := c.wire.Session().ID
	if closed, err := c.closeSubject(); closed && err == nil {
		c.closed(id)
	}
}

// leave closes the session while the client waits. The belief ends at the call, not at its return.
func (c *client) leave() error {
	c.closed(c.wire.Session().ID)
	if _, err := c.closeSubject(); err != nil {
		return fmt.Errorf("client %d closes its session: %w", c.n, err)
	}
	return nil
}

func (c *client) closeSubject() (closed bool, err error) {
	c.asking.Wait()
	subject := c.subject.Swap(nil)
	if subject == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second+c.st.scenario.SessionTimeout)
	defer cancel()
	return true, (*subject).Close(ctx)
}

func (c *client) closed(session int64) {
	c.st.record.Record(&history.Session{At: c.st.clock.Now(), Event: history.Closed, Client: c.n, Session: session})
}

// reopen replaces a client whose session has ended. It retries until ctx is done: an election may
// be in progress.
func (c *client) reopen(ctx context.Context) error {
	c.close()
	for {
		err := c.open(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.backOff(ctx)
	}
}
