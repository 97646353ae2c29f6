package recipes

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

func init() {
	Register(Subject{
		Name: "lock/go-zookeeper", Recipe: RecipeLock, Variant: Predecessor,
		About:    "go-zookeeper's own zk.Lock, unmodified: waits for the node before its own. Calls cannot be cancelled; an error after the create leaves the node behind",
		Promises: Promises{Exclusive: true, FIFO: true, Events: true},
		NoCancel: true, Writes: true,
		Formulas: Formulas{
			// Every waiter lists again before it takes the lock, and this adapter reads its token.
			Drain: func(n, k int) Cost {
				woken := int64(min(k, n-1))
				return Cost{Notifications: woken, Lists: woken, Deletes: int64(k), Others: woken}
			},
			Flap: flapPredecessor, Text: contestFormulas[Predecessor].Text,
		},
		Open: func(ctx context.Context, env Env) (_ Client, err error) {
			c := &goZooKeeper{env: env}
			c.conn, err = client.Open(ctx, client.Options{
				Servers: env.Servers, Timeout: env.Timeout, Dial: env.Dial, Auth: env.Auth,
				MaxPacket: env.MaxPacket, MaxRequest: firstRequest, // its requests have a path or two
			}, c.changed)
			if err != nil {
				return nil, fmt.Errorf("open a session with %v: %w", env.Servers, err)
			}
			c.newLock()
			return c, nil
		},
	})
}

// goZooKeeper is a client of go-zookeeper's zk.Lock, used as documented, with a listener of the connection's events.
type goZooKeeper struct {
	env  Env
	conn *client.Conn
	lock *zk.Lock

	mu    sync.Mutex
	token int64 // of its grant; 0 for none
}

func (c *goZooKeeper) newLock() {
	c.lock = zk.NewLock(c.conn.Conn, c.env.Parent, client.ACL(c.env.ACL))
}

// changed reports changes of the connection's state as events. A user of zk.Lock gets no other information:
// it is unknown whether the node still exists.
func (c *goZooKeeper) changed(state zk.State) {
	kind, known := map[zk.State]EventKind{
		zk.StateDisconnected: EventSuspended, zk.StateHasSession: EventRestored, zk.StateExpired: EventLost,
	}[state]
	c.mu.Lock()
	token := c.token
	if kind == EventLost {
		c.token = 0
	}
	c.mu.Unlock()
	if known && token != 0 {
		c.env.event(Event{Kind: kind, Token: token})
	}
}

// Acquire calls Lock. The grant begins when Lock returns. Then the adapter reads the node's czxid as the
// token, because zk.Lock has none.
func (c *goZooKeeper) Acquire(ctx context.Context) (Claim, error) {
	locked := make(chan error, 1)
	go func() { locked <- c.take() }()
	select {
	case err := <-locked:
		if err != nil {
			return Claim{}, err
		}
	case <-ctx.Done():
		// Lock cannot be cancelled. If it still succeeds, it must not stay held.
		go func() {
			if <-locked == nil {
				_ = c.unlock()
			}
		}()
		return Claim{}, fmt.Errorf("lock: %w: %w", ErrUnfinished, context.Cause(ctx))
	}
	claim := Claim{At: time.Now(), Session: c.conn.SessionID()}
	claim.Path = reflect.ValueOf(c.lock).Elem().FieldByName("lockPath").String()
	found, stat, err := c.ask(ctx, claim.Path)
	if err == nil && !found {
		err = errors.New("the node of the lock that was just granted does not exist")
	}
	if err != nil {
		return Claim{}, errors.Join(fmt.Errorf("read the token from %s: %w", claim.Path, err), c.unlock())
	}
	claim.Token = stat.Czxid
	c.mu.Lock()
	c.token = claim.Token
	c.mu.Unlock()
	return claim, nil
}

// take calls Lock. If an earlier Unlock failed, it calls Unlock first.
func (c *goZooKeeper) take() error {
	err := c.lock.Lock()
	if !errors.Is(err, zk.ErrDeadlock) {
		return err
	}
	if failed := c.unlock(); failed != nil && !errors.Is(failed, zk.ErrNoNode) {
		return errors.Join(err, failed)
	}
	return c.lock.Lock()
}

// ask reads the lock's node, retrying over connection losses: the adapter's own reads must not look
// like an error of zk.Lock.
func (c *goZooKeeper) ask(ctx context.Context, path string) (found bool, stat *zk.Stat, err error) {
	for {
		if found, stat, err = c.conn.Exists(path); err == nil {
			return found, stat, nil
		}
		if c.conn.Await(ctx, false) != nil {
			return false, nil, err
		}
	}
}

func (c *goZooKeeper) Release(ctx context.Context) error {
	c.mu.Lock()
	c.token = 0
	c.mu.Unlock()
	_, answered, err := client.Call(ctx, func() (struct{}, error) { return struct{}{}, c.unlock() })
	if !answered {
		return fmt.Errorf("unlock: %w: %w", ErrUnfinished, context.Cause(ctx))
	}
	return err
}

// unlock calls Unlock. Lock returns ErrDeadlock after a failed Unlock, so unlock makes a new lock if the
// node does not exist.
func (c *goZooKeeper) unlock() error {
	err := c.lock.Unlock()
	if errors.Is(err, zk.ErrNoNode) {
		c.newLock()
	}
	return err
}

// Write implements Worker. It writes on the lock's connection, as a user of zk.Lock would.
func (c *goZooKeeper) Write(ctx context.Context, path, value string) error {
	_, answered, err := client.Call(ctx, func() (*zk.Stat, error) { return c.conn.Set(path, []byte(value), -1) })
	if !answered {
		return fmt.Errorf("write: %w: %w", ErrUnfinished, context.Cause(ctx))
	}
	return err
}

func (c *goZooKeeper) Close(context.Context) error {
	c.conn.Close()
	return nil
}
