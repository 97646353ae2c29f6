package zoo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

// lockClient is a client of a lock or an election that waits in line with an ephemeral sequential node.
type lockClient struct {
	env              recipes.Env
	steps            steps
	c                *conn
	sessionAtAcquire int64  // ID of the session in which the last Acquire began
	mode             string // of a read-write lock: readMark or writeMark

	mu    sync.Mutex
	path  string // node of its grant; "" without a grant
	czxid int64
	token int64 // the token of the holder
	count int64 // number of its grants
}

func (l *lockClient) connect(ctx context.Context) error {
	c, err := connect(ctx, l.env, func(s zk.State) { l.steps.state(l, s) })
	if err != nil {
		return err
	}
	c.spansSessions = l.steps.spansSessions
	l.mu.Lock()
	defer l.mu.Unlock()
	l.c = c
	return nil
}

func (l *lockClient) Acquire(ctx context.Context) (recipes.Claim, error) {
	l.sessionAtAcquire = l.c.SessionID()
	path, err := l.steps.create(ctx, l)
	if err != nil {
		return recipes.Claim{}, err
	}
	claim, err := l.awaitTurn(ctx, path)
	if err != nil {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		l.steps.abandon(tidy, l, path)
	}
	return claim, err
}

func (l *lockClient) AcquireWith(ctx context.Context, o recipes.AcquireOptions) (recipes.Claim, error) {
	if l.mode = writeMark; o.Mode == recipes.Read {
		l.mode = readMark
	}
	return l.Acquire(ctx)
}

func (l *lockClient) awaitTurn(ctx context.Context, path string) (recipes.Claim, error) {
	for {
		names, err := l.steps.list(ctx, l)
		if err != nil {
			return recipes.Claim{}, err
		}
		turn, ahead := l.steps.order(names, client.Base(path))
		if !turn {
			if turn, err = l.steps.wait(ctx, l, client.Base(path), ahead); err != nil {
				return recipes.Claim{}, err
			}
		}
		if turn {
			return l.granted(ctx, path)
		}
	}
}

func (l *lockClient) granted(ctx context.Context, path string) (recipes.Claim, error) {
	stat, err := l.c.stat(ctx, path)
	if err != nil {
		return recipes.Claim{}, err
	}
	if stat == nil && l.steps.unchecked {
		stat = &zk.Stat{Czxid: l.czxid}
	}
	if stat == nil {
		return recipes.Claim{}, errors.New("our node was deleted")
	}
	l.mu.Lock()
	l.count++
	l.path, l.czxid, l.token = path, stat.Czxid, l.steps.token(l, stat.Czxid)
	token := l.token
	l.mu.Unlock()
	return recipes.Claim{Token: token, Session: l.steps.session(l), Path: path}, nil
}

var errNothingHeld = errors.New("release: nothing is held")

func (l *lockClient) Release(ctx context.Context) error {
	path := l.drop()
	if path == "" {
		return errNothingHeld
	}
	return l.steps.release(ctx, l, path)
}

func (l *lockClient) drop() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := l.path
	l.path, l.token = "", 0
	return path
}

func (l *lockClient) Close(context.Context) error {
	l.c.Close()
	return nil
}

// reportState reports events as a correct client does after a change of its connection's state: suspended without
// a connection, restored only after a check that the node exists and belongs to the session.
func (l *lockClient) reportState(s zk.State) {
	l.mu.Lock()
	token, czxid, path, c := l.token, l.czxid, l.path, l.c
	l.mu.Unlock()
	if token == 0 {
		return
	}
	switch s {
	case zk.StateDisconnected:
		l.env.Events(recipes.Event{Kind: recipes.EventSuspended, Token: token})
	case zk.StateExpired:
		l.drop()
		l.env.Events(recipes.Event{Kind: recipes.EventLost, Token: token})
	case zk.StateHasSession:
		go l.check(c, token, czxid, path)
	}
}

func (l *lockClient) check(c *conn, token, czxid int64, path string) {
	ctx, cancel := context.WithTimeout(context.Background(), l.env.Timeout)
	defer cancel()
	stat, err := c.stat(ctx, path)
	kind := recipes.EventRestored
	switch {
	case err != nil:
		return // unknown: the next state of the connection decides between restored and lost
	case stat == nil || stat.Czxid != czxid || stat.EphemeralOwner != c.SessionID():
		kind = recipes.EventLost
	}
	l.env.Events(recipes.Event{Kind: kind, Token: token})
}
