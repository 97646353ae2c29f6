package zoo

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

// steps are the steps of standing in line, each of which a specimen may get wrong.
// Every step that is nil is done soundly.
type steps struct {
	// name is what a node's name begins with; the servers append the number.
	name func(c *conn, id string) string
	// create makes the node that stands in line.
	create func(ctx context.Context, l *line) (path string, err error)
	// list returns the names of those in line.
	list func(ctx context.Context, l *line) ([]string, error)
	// order reports whether ours is first, and else which is directly ahead.
	order func(names []string, ours string) (first bool, ahead string)
	// wait returns when something may have changed, or with turn when it is our turn.
	wait func(ctx context.Context, l *line, ours, ahead string) (turn bool, err error)
	// abandon cleans up after an acquire that failed.
	abandon func(ctx context.Context, l *line, path string)
	// release removes the holder's node.
	release func(ctx context.Context, l *line, path string) error
	// state is called at every change of the connection's state.
	state func(l *line, s zk.State)
	// session is the id that a grant is claimed to be bound to.
	session func(l *line) int64
	// spans lets the client go on after its session has expired.
	spans bool
}

func (s steps) orSound() steps {
	if s.name == nil {
		s.name = guidName
	}
	if s.create == nil {
		s.create = createOnce
	}
	if s.list == nil {
		s.list = func(ctx context.Context, l *line) ([]string, error) { return l.c.list(ctx, l.env.Parent) }
	}
	if s.order == nil {
		s.order = byNumber
	}
	if s.wait == nil {
		s.wait = awaitNode
	}
	if s.abandon == nil {
		s.abandon = func(ctx context.Context, l *line, path string) { _ = l.c.remove(ctx, path) } // a dead session takes it along
	}
	if s.release == nil {
		s.release = func(ctx context.Context, l *line, path string) error { return l.c.remove(ctx, path) }
	}
	if s.state == nil {
		s.state = (*line).learn
	}
	if s.session == nil {
		s.session = func(l *line) int64 { return l.c.SessionID() }
	}
	return s
}

// line is a client of a lock or an election that stands in line with an ephemeral
// sequential node, the lowest number first.
type line struct {
	env   recipes.Env
	steps steps
	c     *conn
	began int64 // id of the session in which the last Acquire began

	mu    sync.Mutex
	path  string // of what is held; ""
	token int64
}

func openLine(ctx context.Context, env recipes.Env, s steps) (*line, error) {
	l := &line{env: env, steps: s}
	return l, l.connect(ctx)
}

func (l *line) connect(ctx context.Context) error {
	c, err := connect(ctx, l.env, func(s zk.State) { l.steps.state(l, s) })
	if err != nil {
		return err
	}
	c.spans = l.steps.spans
	l.mu.Lock()
	defer l.mu.Unlock()
	l.c = c
	return nil
}

// Acquire implements recipes.Contender.
func (l *line) Acquire(ctx context.Context) (recipes.Claim, error) {
	l.began = l.c.SessionID()
	path, err := l.steps.create(ctx, l)
	if err != nil {
		return recipes.Claim{}, err
	}
	claim, err := l.stand(ctx, path)
	if err != nil {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		l.steps.abandon(tidy, l, path)
	}
	return claim, err
}

// stand waits until it is our turn.
func (l *line) stand(ctx context.Context, path string) (recipes.Claim, error) {
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

func (l *line) granted(ctx context.Context, path string) (recipes.Claim, error) {
	stat, err := l.c.stat(ctx, path)
	if err != nil {
		return recipes.Claim{}, err
	}
	if stat == nil {
		return recipes.Claim{}, errors.New("our node is gone")
	}
	l.mu.Lock()
	l.path, l.token = path, stat.Czxid
	l.mu.Unlock()
	return recipes.Claim{Token: stat.Czxid, Session: l.steps.session(l), Path: path}, nil
}

var errNothingHeld = errors.New("release: nothing is held")

// Release implements recipes.Contender.
func (l *line) Release(ctx context.Context) error {
	path := l.drop()
	if path == "" {
		return errNothingHeld
	}
	return l.steps.release(ctx, l, path)
}

// drop forgets the grant and returns the path of its node.
func (l *line) drop() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := l.path
	l.path, l.token = "", 0
	return path
}

// Close implements recipes.Client.
func (l *line) Close(context.Context) error {
	l.c.Close()
	return nil
}

// learn is what a sound client makes of its connection's state: suspended without a
// connection, restored only once the node is seen to be there and its own.
func (l *line) learn(s zk.State) {
	l.mu.Lock()
	token, path, c := l.token, l.path, l.c
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
		go l.check(c, token, path)
	}
}

func (l *line) check(c *conn, token int64, path string) {
	ctx, cancel := context.WithTimeout(context.Background(), l.env.Timeout)
	defer cancel()
	stat, err := c.stat(ctx, path)
	kind := recipes.EventRestored
	switch {
	case err != nil:
		return // the next state says more
	case stat == nil || stat.Czxid != token || stat.EphemeralOwner != c.SessionID():
		kind = recipes.EventLost
	}
	l.env.Events(recipes.Event{Kind: kind, Token: token})
}

// marker stands before the number in the names of our nodes.
const marker = "-n-"

// guidName makes a node recognisable after a lost reply.
func guidName(_ *conn, id string) string { return id + marker }

// createOnce creates the node, and finds it again when the reply was lost. Who gives
// up in the middle waits for the answer all the same: the node must not stay.
func createOnce(ctx context.Context, l *line) (string, error) {
	name := l.steps.name(l.c, client.NewID())
	for {
		path, err := l.c.create(context.WithoutCancel(ctx), l.env.Parent+"/"+name, nil, zk.FlagEphemeral|zk.FlagSequence)
		if err == nil && ctx.Err() != nil {
			return "", errors.Join(ctx.Err(), l.c.remove(context.WithoutCancel(ctx), path))
		}
		if !lost(err) {
			return path, err
		}
		if err := l.c.await(ctx); err != nil {
			return "", err
		}
		path, err = l.find(ctx, name)
		if path != "" || err != nil {
			return path, err
		}
	}
}

// find returns the path of the node of this session whose name begins so.
func (l *line) find(ctx context.Context, name string) (string, error) {
	// A write that changes nothing: what we sent before is done when it is answered.
	if err := l.c.remove(ctx, l.env.Parent+"/"+name+"barrier"); err != nil {
		return "", err
	}
	names, err := l.c.list(ctx, l.env.Parent)
	if err != nil {
		return "", err
	}
	for _, n := range names {
		if !strings.HasPrefix(n, name) {
			continue
		}
		stat, err := l.c.stat(ctx, l.env.Parent+"/"+n)
		if err != nil {
			return "", err
		}
		if stat != nil && stat.EphemeralOwner == l.c.SessionID() {
			return l.env.Parent + "/" + n, nil
		}
	}
	return "", nil
}

// number returns what the servers appended to a name.
func number(name string) int32 {
	n, _ := strconv.ParseInt(name[strings.LastIndex(name, marker)+len(marker):], 10, 32)
	return int32(n)
}

// byNumber orders by sequence number, over the wrap of the counter.
func byNumber(names []string, ours string) (first bool, ahead string) {
	return ordered(names, ours, func(a, b string) bool { return number(a)-number(b) < 0 })
}

// ordered finds our place in line by an order.
func ordered(names []string, ours string, before func(a, b string) bool) (first bool, ahead string) {
	for _, n := range names {
		if before(n, ours) && (ahead == "" || before(ahead, n)) {
			ahead = n
		}
	}
	return ahead == "", ahead
}

// awaitNode waits for the end of the node ahead.
func awaitNode(ctx context.Context, l *line, _, ahead string) (turn bool, err error) {
	w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
	if err != nil || !w.found {
		return false, err
	}
	return false, fired(ctx, w.watch)
}

// awaitParent waits for any change in the line.
func awaitParent(ctx context.Context, l *line, ours, _ string) (turn bool, err error) {
	w, err := l.c.watchChildren(ctx, l.env.Parent)
	if err != nil {
		return false, err
	}
	if first, _ := l.steps.order(w.names, ours); first {
		return true, nil
	}
	return false, fired(ctx, w.watch)
}
