// Package zoo contains recipes with deliberate bugs. Each is correct except for one small mistake that real
// code has made; a comment names its origin. They prove that the verdicts can fail: a run of the scenario
// zoo must detect every mistake.
//
// Importing the package registers the recipes as subjects named "zoo/...". They must not be used for anything else.
package zoo

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

func registerLock(name, about string, wrong steps) {
	recipes.Register(lockSubject(name, about, wrong))
}

func registerShared(r recipes.Recipe, name, about string, fifo bool, wrong steps) {
	s := lockSubject(name, about, wrong)
	s.Recipe, s.Promises.FIFO = r, fifo
	recipes.Register(s)
}

func lockSubject(name, about string, wrong steps) recipes.Subject {
	return recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about, Recipe: recipes.RecipeLock,
		Promises: recipes.Promises{Exclusive: true, FIFO: true, Events: true},
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			l := &lockClient{env: env, steps: wrong.withDefaults()}
			return l, l.connect(ctx)
		},
	}
}

func registerQueue(name, about string, wrong queueSteps) {
	recipes.Register(recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about, Recipe: recipes.RecipeQueue,
		Promises: recipes.Promises{FIFO: true, Delivery: recipes.ExactlyOnce},
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			c, err := connect(ctx, env, nil)
			return &queueClient{env, wrong.withDefaults(), c}, err
		},
	})
}

// steps are the steps of waiting in line. A broken recipe replaces some of them; nil selects the correct implementation.
type steps struct {
	// name returns the beginning of a node's name; the servers append the number.
	name   func(c *conn, id string) string
	create func(ctx context.Context, l *lockClient) (path string, err error)
	list   func(ctx context.Context, l *lockClient) ([]string, error)
	// order reports whether the node ours is first, and otherwise returns the node directly ahead.
	order func(names []string, ours string) (first bool, ahead string)
	// wait returns when the line may have changed. turn means that it is our turn.
	wait func(ctx context.Context, l *lockClient, ours, ahead string) (turn bool, err error)
	// abandon cleans up after an acquire that failed.
	abandon func(ctx context.Context, l *lockClient, path string)
	release func(ctx context.Context, l *lockClient, path string) error
	// state is called at every change of the connection's state.
	state func(l *lockClient, s zk.State)
	// token returns the holder's token for the node's czxid.
	token func(l *lockClient, czxid int64) int64
	// session returns the ID of the session to which a grant is claimed to be bound.
	session func(l *lockClient) int64
	// spansSessions lets the client continue after its session has expired.
	spansSessions bool
	// unchecked lets the client hold although its node no longer exists.
	unchecked bool
	// assumesParent lets the client fail if the parent does not exist, instead of creating it.
	assumesParent bool
}

func (s steps) withDefaults() steps {
	setDefault(&s.name, guidName)
	setDefault(&s.create, createOnce)
	setDefault(&s.list, func(ctx context.Context, l *lockClient) ([]string, error) { return l.c.list(ctx, l.env.Parent) })
	setDefault(&s.order, byNumber)
	setDefault(&s.wait, awaitNode)
	setDefault(&s.abandon, func(ctx context.Context, l *lockClient, path string) { _ = l.c.remove(ctx, path) }) // the end of the session deletes it
	setDefault(&s.release, func(ctx context.Context, l *lockClient, path string) error { return l.c.remove(ctx, path) })
	setDefault(&s.state, (*lockClient).reportState)
	setDefault(&s.token, func(_ *lockClient, czxid int64) int64 { return czxid })
	setDefault(&s.session, func(l *lockClient) int64 { return l.c.SessionID() })
	return s
}

func setDefault[F any](step *F, fallback F) {
	if reflect.ValueOf(*step).IsNil() {
		*step = fallback
	}
}

// marker precedes the number in the names of our nodes.
const marker = "-n-"

// guidName makes a node recognizable after a lost reply.
func guidName(_ *conn, id string) string { return id + marker }

// createOnce creates the node, and finds it again if the reply was lost. A cancelled call still
// waits for the reply: the node must not stay.
func createOnce(ctx context.Context, l *lockClient) (string, error) {
	name := l.steps.name(l.c, client.NewID()+l.mode)
	for {
		path, err := l.create(context.WithoutCancel(ctx), name)
		if err == nil && ctx.Err() != nil {
			return "", errors.Join(ctx.Err(), l.c.remove(context.WithoutCancel(ctx), path))
		}
		if !isReplyLost(err) {
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

func (l *lockClient) create(ctx context.Context, name string) (path string, err error) {
	for {
		path, err = l.c.create(ctx, l.env.Parent+"/"+name, nil, zk.FlagEphemeral|zk.FlagSequence)
		if !errors.Is(err, zk.ErrNoNode) || l.steps.assumesParent {
			return path, err
		}
		if _, err := l.c.create(ctx, l.env.Parent, nil, 0); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return "", err
		}
	}
}

func (l *lockClient) find(ctx context.Context, name string) (string, error) {
	// A write that changes nothing: when it is answered, our earlier requests have been executed.
	if err := l.c.remove(ctx, l.env.Parent+"/"+name+"barrier"); err != nil {
		return "", err
	}
	names, err := l.c.list(ctx, l.env.Parent)
	if err != nil {
		return "", err
	}
	own, _, err := client.OwnNode(names, name, l.c.SessionID(), func(n string) (*zk.Stat, error) {
		return l.c.stat(ctx, l.env.Parent+"/"+n)
	})
	if own == "" {
		return "", err
	}
	return l.env.Parent + "/" + own, nil
}

// suffix returns the suffix that the servers appended to a name, and number its value.
func suffix(name string) string { return name[strings.LastIndex(name, marker)+len(marker):] }

func number(name string) int32 {
	n, _ := strconv.ParseInt(suffix(name), 10, 32)
	return int32(n)
}

// byNumber orders by sequence number, also when the counter wraps.
func byNumber(names []string, ours string) (first bool, ahead string) {
	return ordered(names, ours, func(a, b string) bool { return number(a)-number(b) < 0 })
}

func ordered(names []string, ours string, before func(a, b string) bool) (first bool, ahead string) {
	for _, n := range names {
		if before(n, ours) && (ahead == "" || before(ahead, n)) {
			ahead = n
		}
	}
	return ahead == "", ahead
}

func awaitNode(ctx context.Context, l *lockClient, _, ahead string) (turn bool, err error) {
	w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
	if err != nil || !w.found {
		return false, err
	}
	return false, w.wait(ctx)
}

func awaitParent(ctx context.Context, l *lockClient, ours, _ string) (turn bool, err error) {
	return awaitChildren(ctx, l, func(names []string) bool {
		first, _ := l.steps.order(names, ours)
		return first
	})
}

// awaitChildren lists the parent's children with a watch. It returns true at once if enough(names), otherwise false after the children have changed.
func awaitChildren(ctx context.Context, l *lockClient, enough func(names []string) bool) (bool, error) {
	w, err := l.c.watchChildren(ctx, l.env.Parent)
	if err != nil || enough(w.names) {
		return err == nil, err
	}
	return false, w.wait(ctx)
}

func alwaysFirst([]string, string) (first bool, ahead string) { return true, "" }

func neverFirst([]string, string) (first bool, ahead string) { return false, "" }

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
