package recipes

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

func init() {
	Register(Subject{
		Name: "lock/go-zookeeper", Variant: Predecessor,
		About: "go-zookeeper's own zk.Lock, as it is: waits on the node before its own. No context; an error after its create leaves the node behind",
		Open:  func(ctx context.Context, env Env) (Client, error) { return openGoZooKeeper(ctx, env) },
		Drain: goZooKeeperDrain,
	})
}

// goZooKeeperDrain is DrainCost for zk.Lock: every waiter lists again before it
// takes the lock, and the lab's look at the token is one more request a grant.
func goZooKeeperDrain(n, k int) Cost {
	woken := int64(min(k, n-1))
	return Cost{Notifications: woken, Lists: woken, Deletes: int64(k), Others: woken}
}

// goZooKeeper is a client of go-zookeeper's zk.Lock, used as its documentation says,
// by somebody who listens to the connection's events.
type goZooKeeper struct {
	conn   *zk.Conn
	lock   *zk.Lock
	events func(Event)

	mu      sync.Mutex
	state   zk.State
	changed chan struct{}
	token   int64 // of what is held; 0
}

func openGoZooKeeper(ctx context.Context, env Env) (*goZooKeeper, error) {
	c := &goZooKeeper{events: env.Events, changed: make(chan struct{})}
	if c.events == nil {
		c.events = func(Event) {}
	}
	conn, _, err := zk.Connect(env.Servers, env.Timeout, zk.WithDialer(env.Dial),
		zk.WithEventCallback(c.observe), zk.WithLogger(silence{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(env.MaxPacket), zk.WithMaxConnBufferSize(env.MaxPacket))
	if err != nil {
		return nil, err
	}
	c.conn, c.lock = conn, zk.NewLock(conn, env.Parent, zk.WorldACL(zk.PermAll))
	for {
		c.mu.Lock()
		state, changed := c.state, c.changed
		c.mu.Unlock()
		if state == zk.StateHasSession {
			return c, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			conn.Close()
			return nil, fmt.Errorf("open a session with %v: %w", env.Servers, ctx.Err())
		}
	}
}

// observe is the connection's event callback. All that zk.Lock's user learns is the
// state of the connection: nothing says whether the node is still there.
func (c *goZooKeeper) observe(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	c.mu.Lock()
	c.state = e.State
	close(c.changed)
	c.changed = make(chan struct{})
	token := c.token
	if e.State == zk.StateExpired {
		c.token = 0
	}
	c.mu.Unlock()
	if token == 0 {
		return
	}
	switch e.State {
	case zk.StateDisconnected:
		c.events(Event{Kind: EventSuspended, Token: token})
	case zk.StateHasSession:
		c.events(Event{Kind: EventRestored, Token: token})
	case zk.StateExpired:
		c.events(Event{Kind: EventLost, Token: token})
	}
}

// Acquire calls Lock. The grant counts from Lock's return; only then is the token
// looked up, which zk.Lock does not offer.
func (c *goZooKeeper) Acquire(ctx context.Context) (Claim, error) {
	locked := make(chan error, 1)
	go func() { locked <- c.lock.Lock() }()
	select {
	case err := <-locked:
		if err != nil {
			return Claim{}, err
		}
	case <-ctx.Done():
		// Lock cannot be called off. Should it still succeed, it must not stay held.
		go func() {
			if <-locked == nil {
				c.lock.Unlock()
			}
		}()
		return Claim{}, unfinished("lock", ctx)
	}
	claim := Claim{At: time.Now(), Session: c.conn.SessionID(), Path: c.path()}
	found, stat, err := c.conn.Exists(claim.Path)
	if err == nil && !found {
		err = errors.New("the node of the lock that was just granted is not there")
	}
	if err != nil {
		return Claim{}, errors.Join(fmt.Errorf("token of %s: %w", claim.Path, err), c.lock.Unlock())
	}
	claim.Token = stat.Czxid
	c.mu.Lock()
	c.token = claim.Token
	c.mu.Unlock()
	return claim, nil
}

// path reads the path of the lock's node, which zk.Lock keeps to itself.
func (c *goZooKeeper) path() string {
	return reflect.ValueOf(c.lock).Elem().FieldByName("lockPath").String()
}

func (c *goZooKeeper) Release(ctx context.Context) error {
	c.mu.Lock()
	c.token = 0
	c.mu.Unlock()
	unlocked := make(chan error, 1)
	go func() { unlocked <- c.lock.Unlock() }()
	select {
	case err := <-unlocked:
		return err
	case <-ctx.Done():
		return unfinished("unlock", ctx)
	}
}

func (c *goZooKeeper) Close(context.Context) error {
	c.conn.Close()
	return nil
}
