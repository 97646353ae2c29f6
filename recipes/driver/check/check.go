// Package check holds a driver to the subject protocol, rule by rule, on a real ensemble.
// It asks whether the driver translates; what its recipe is worth is for the scenarios.
package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

// Ground is what a check needs of the ensemble and of the wire.
type Ground interface {
	// Env is that of a new client: its listeners, for a recipe at path.
	Env(client int, path string) recipes.Env
	// Make makes an empty persistent node, and those above it.
	Make(ctx context.Context, path string) error
	// Look returns a node's data, czxid and owner; czxid 0 where there is none.
	Look(ctx context.Context, path string) (data string, czxid, owner int64, err error)
	// Below counts the ephemeral nodes of a session below path, at any depth.
	Below(ctx context.Context, path string, session int64) (int, error)
	// Cut breaks a client's connections and refuses others until restored is called.
	Cut(client int) (restore func())
	// End closes a client's session at the servers.
	End(ctx context.Context, client int) error
}

// The results of a step.
const (
	OK         = "ok"
	Wrong      = "WRONG"
	NotOffered = "not offered"
	Unknown    = "unknown" // something else went wrong
)

// Step is what came of one rule.
type Step struct {
	Name, Rule string
	Result     string
	Why        string   // what is wrong, or worth saying
	Exchange   []string // of a step that is wrong: the last lines, "> " sent and "< " received
}

// session timeout of the clients.
const timeout = 4 * time.Second

// Run checks a driver, and calls each with every step. Each step that needs clients has
// some of its own, and a part of the tree below root. The error is that the ensemble does
// not serve, or that ctx is done.
func Run(ctx context.Context, c host.Command, stderr, owner string, g Ground, root string, each func(Step)) error {
	p, err := host.Launch(c, site.Here{}, stderr, owner, nil)
	if err != nil {
		each(Step{"start", "the driver is a program that can be started", Wrong, err.Error(), nil})
		return nil
	}
	defer p.Stop()
	k := &checker{ctx: ctx, p: p, g: g, root: root, command: c, owner: owner}
	for _, s := range steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !k.concerns(s) {
			continue
		}
		done := k.step(s)
		each(done)
		if p.Err() != nil && s.name != "end of stdin" {
			return nil // nobody listens any more
		}
	}
	return nil
}

// checker is a check under way.
type checker struct {
	ctx     context.Context
	p       *host.Process
	g       Ground
	root    string
	command host.Command
	owner   string

	path    string // of the step
	numbers int    // of clients so far
	open    []*host.Client
	said    []string    // of the step
	ended   atomic.Bool // in this step a grant has ended by itself
}

// step is one rule, and how it is checked.
type step struct {
	name, rule string
	recipe     string // "queue", "grant" for locks and elections, "" for all
	op         string // that has to be offered; "events" are, too; "" for none
	run        func(*checker)
}

// wrong is a rule that is broken; it ends its step.
type wrong struct{ why string }

// failed is an error of the ground; it ends its step.
type failed struct{ error }

// concerns says whether the step is about the driver's recipe.
func (k *checker) concerns(s step) bool {
	return s.recipe == "" || (s.recipe == "queue") == (k.p.Hello.Recipe == string(recipes.RecipeQueue))
}

func (k *checker) step(s step) (done Step) {
	done = Step{Name: s.name, Rule: s.rule, Result: OK}
	offered := s.op == "" || slices.Contains(k.p.Hello.Ops, s.op)
	if s.op == "events" {
		offered = k.p.Hello.Events
	}
	if !offered {
		done.Result = NotOffered
		return done
	}
	k.path, k.open, k.said = k.root+"/"+strings.ReplaceAll(s.name, " ", "-"), nil, nil
	k.ended.Store(false)
	late := len(k.p.Late())
	defer func() {
		switch why := recover().(type) {
		case nil:
		case wrong:
			done.Result, done.Why = Wrong, why.why
		case failed:
			done.Result, done.Why = Unknown, why.Error()
		default:
			panic(why)
		}
		k.closeAll()
		if err := k.p.Err(); err != nil && done.Result == OK && s.name != "end of stdin" {
			done.Result, done.Why = Wrong, err.Error()
		}
		if more := k.p.Late()[late:]; len(more) > 0 && done.Result == OK {
			done.Result, done.Why = Wrong, strings.Join(more, "; ")
		}
		if done.Result == OK {
			done.Why = strings.Join(k.said, "; ")
		} else {
			done.Exchange = k.p.Exchange()
		}
	}()
	s.run(k)
	return done
}

// must ends the step where the ground or the driver failed.
func (k *checker) must(err error) {
	if err == nil {
		return
	}
	if k.p.Err() != nil {
		panic(wrong{k.p.Err().Error()})
	}
	panic(failed{err})
}

// be ends the step where a rule is broken.
func (k *checker) be(ok bool, format string, args ...any) {
	if k.p.Err() != nil {
		panic(wrong{k.p.Err().Error()})
	}
	if !ok {
		panic(wrong{fmt.Sprintf(format, args...)})
	}
}

// note says something beside an ok.
func (k *checker) note(format string, args ...any) {
	k.said = append(k.said, fmt.Sprintf(format, args...))
}

// client opens a client, with its events.
func (k *checker) client() (*host.Client, chan recipes.Event) {
	k.must(k.g.Make(k.ctx, k.path))
	k.must(k.g.Make(k.ctx, k.path+"-resource"))
	events := make(chan recipes.Event, 100)
	env := k.g.Env(k.numbers, k.path)
	env.Parent, env.Resource, env.Timeout, env.Client = k.path, k.path+"-resource", timeout, k.numbers
	env.Events = func(e recipes.Event) {
		if e.Kind == recipes.EventEnded {
			k.ended.Store(true)
		}
		select {
		case events <- e:
		default:
		}
	}
	k.numbers++
	c, err := k.p.Open(k.ctx, env)
	k.be(err == nil, "open is answered ok once the client is connected: %v", err)
	k.open = append(k.open, c)
	if env.Seen().Session == 0 {
		later := k.until(2*time.Second, func() bool { return env.Seen().Session != 0 })
		k.be(!later, "open is answered when the client is connected, and its session came later")
	}
	k.be(env.Seen().Session != 0, "each client has a session of its own through connect, and none was seen there: a client shares another's connection, or left its listeners")
	return c, events
}

func (k *checker) closeAll() {
	for _, c := range k.open {
		_ = c.Close(k.ctx) // a close that is wrong ends the conversation, or is in late
	}
}

// ask sends a request of a client that may not be open, and returns the answer.
func (k *checker) ask(op string, client int) lines.Reply {
	a, err := k.p.Await(k.p.Send(lines.Request{Op: op, Client: &client}, nil), 10*time.Second)
	k.must(err)
	return a
}

// within is the step's context, for so long.
func (k *checker) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(k.ctx, d)
}

// grantLimit is how long an acquire may take when nobody is in the way.
const grantLimit = 10 * time.Second

// acquire has the client acquire what nobody holds.
func (k *checker) acquire(c *host.Client) recipes.Claim {
	ctx, cancel := k.within(grantLimit)
	defer cancel()
	claim, err := c.Acquire(ctx)
	k.be(err == nil, "nobody holds, and acquire, which has %v, came to no grant: %v", grantLimit, err)
	return claim
}

func (k *checker) release(c *host.Client) {
	ctx, cancel := k.within(grantLimit)
	defer cancel()
	err := c.Release(ctx)
	k.be(err == nil, "a release, with nothing in its way, is answered ok: %v", err)
}

// until waits for a condition.
func (k *checker) until(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); ; {
		if ok() {
			return true
		}
		if time.Now().After(end) || k.ctx.Err() != nil {
			return false
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-k.ctx.Done():
		}
	}
}

// attempt is an operation in the background.
type attempt struct {
	claim  recipes.Claim
	item   []byte
	err    error
	done   chan struct{}
	giveUp context.CancelFunc
}

func (k *checker) begin(f func(context.Context, *attempt)) *attempt {
	ctx, cancel := context.WithCancel(k.ctx)
	a := &attempt{done: make(chan struct{}), giveUp: cancel}
	go func() {
		defer close(a.done)
		f(ctx, a)
	}()
	return a
}

func (k *checker) beginAcquire(c *host.Client) *attempt {
	return k.begin(func(ctx context.Context, a *attempt) { a.claim, a.err = c.Acquire(ctx) })
}

func (k *checker) beginTake(c *host.Client) *attempt {
	return k.begin(func(ctx context.Context, a *attempt) { a.item, a.err = c.Take(ctx) })
}

// returns says whether the attempt returns within a time.
func (a *attempt) returns(limit time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// waits ends the step if the attempt returns, while somebody is in its way.
func (k *checker) waits(a *attempt, what string) {
	returned := a.returns(300 * time.Millisecond)
	if returned && k.ended.Load() {
		panic(failed{fmt.Errorf("%s returned, and a grant had ended by itself: nobody may have been in its way", what)})
	}
	k.be(!returned, "%s returned although it has to wait: %v", what, a.err)
}

// nodes counts the session's nodes in line.
func (k *checker) nodes(session int64) int {
	n, err := k.g.Below(k.ctx, k.path, session)
	k.must(err)
	return n
}
