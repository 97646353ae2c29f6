package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// open gives the client a new session. Clients are spread over the members, the
// n-th beginning with the n-th.
func (c *client) open(ctx context.Context) error {
	st := c.st
	subject, err := st.cell.Subject.Open(ctx, recipes.Env{
		Servers: rotated(st.members.ensemble.Servers(), c.n), Parent: st.parent, Timeout: st.scenario.SessionTimeout,
		Dial: c.dialer(), MaxPacket: st.packet(), Events: c.event,
	})
	if err != nil {
		return fmt.Errorf("client %d: %w", c.n, err)
	}
	if err := st.accept(subject); err != nil {
		return errors.Join(err, subject.Close(ctx))
	}
	c.subject.Store(&subject)
	return nil // the tap has recorded the session
}

// rotated returns the servers so that the n-th comes first.
func rotated(servers []string, n int) []string {
	k := n % len(servers)
	return slices.Concat(servers[k:], servers[:k])
}

// dialer is the client's tap, and what the trial puts before it.
func (c *client) dialer() zk.Dialer {
	if c.st.dial != nil {
		return c.st.dial(c.wire.Dial)
	}
	return c.wire.Dial
}

// opened says whether the client has a session, or had one until it ended.
func (c *client) opened() bool { return c.subject.Load() != nil }

// close closes the client's session in good order.
func (c *client) close() {
	id := c.wire.Session().ID
	if closed, err := c.closeSubject(); closed && err == nil {
		c.closed(id)
	}
}

// leave closes the session while the client stands in line under it. Belief ends at the
// call, not with its return.
func (c *client) leave() error {
	c.closed(c.wire.Session().ID)
	if _, err := c.closeSubject(); err != nil {
		return fmt.Errorf("client %d closes its session: %w", c.n, err)
	}
	return nil
}

// closeSubject says whether there was anything to close.
func (c *client) closeSubject() (closed bool, err error) {
	subject := c.subject.Swap(nil)
	if subject == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return true, (*subject).Close(ctx)
}

// closed records that the client closes its session.
func (c *client) closed(session int64) {
	c.st.record.Record(&history.Session{At: c.st.clock.Now(), Event: history.Closed, Client: c.n, Session: session})
}

// reopen replaces a client whose session has ended. It tries until ctx is done: the
// ensemble may be in the middle of an election.
func (c *client) reopen(ctx context.Context) error {
	c.close()
	for {
		err := c.open(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}
