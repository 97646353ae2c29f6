// Package check checks a driver against the subject protocol, rule by rule, on a real ensemble. It
// checks the driver's translation; scenarios test its recipe.
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

// Environment gives a check access to the ensemble and to the clients' connections.
type Environment interface {
	// Env returns the Env of a new client, with its listeners, for a recipe at path.
	Env(client int, path string) recipes.Env
	// Make creates an empty persistent node and its ancestors.
	Make(ctx context.Context, path string) error
	// Look returns a node's data, czxid and owner; czxid 0 if it does not exist.
	Look(ctx context.Context, path string) (data string, czxid, owner int64, err error)
	// Below counts the ephemeral nodes of a session below path, at any depth.
	Below(ctx context.Context, path string, session int64) (int, error)
	// Cut breaks a client's connections and refuses new ones until restore is called.
	Cut(client int) (restore func())
	// End closes a client's session at the servers.
	End(ctx context.Context, client int) error
}

// Values of Step.Result.
const (
	OK         = "ok"
	Wrong      = "WRONG"
	NotOffered = "not offered"
	Unknown    = "unknown" // an error that is not the driver's
)

// Step is a checked rule of the protocol, and the result.
type Step struct {
	Name, Rule string
	Result     string
	Why        string   // the problem, or a remark
	Exchange   []string // the last lines, "> " sent and "< " received, if Result is Wrong or Unknown
}

const timeout = 4 * time.Second

// Config is the input of Run: the driver to check, and its environment.
type Config struct {
	Command     host.Command
	Stderr      string // prefix of the file for the driver's stderr; "" discards it
	Owner       string // mark of the driver's process
	Environment Environment
	Root        string // path of the subtree to use
}

// Run checks a driver, and calls each with every finished step. Each step has its own clients and subtree.
// Run returns an error only if ctx is done; other errors are in the steps.
func Run(ctx context.Context, s Config, each func(Step)) error {
	p, err := host.Launch(s.Command, site.Here{}, s.Stderr, s.Owner, nil)
	if err != nil {
		each(Step{"start", "the driver is a program that can be started", Wrong, err.Error(), nil})
		return nil
	}
	defer p.Stop()
	k := &checker{Config: s, ctx: ctx, p: p}
	for _, s := range steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !k.applies(s) {
			continue
		}
		done := k.step(s)
		each(done)
		if p.Err() != nil && s.name != "end of stdin" {
			return nil // the conversation has ended
		}
	}
	return nil
}

type checker struct {
	Config
	ctx context.Context
	p   *host.Process

	during  context.Context // ends with the step
	path    string          // of the step's recipe
	numbers int             // number of the next client
	// groupSize is the number of permits of the step's semaphore, or of parties of its barrier; 0 is 1
	groupSize int
	open      []*host.Client
	notes     []string
	ended     atomic.Bool // whether a grant has ended by itself in this step
}

type step struct {
	name, rule string
	recipe     string // the recipe checked; "line": all but queues and barriers, "grant": all but queues, "": all
	op         string // the operation that the driver must offer, or "events"; "": none
	run        func(*checker)
}

type violation struct{ why string }

// envError is the panic value that ends a step because of an error of the environment.
type envError struct{ error }

func (k *checker) applies(s step) bool {
	is := recipes.Recipe(k.p.Hello.Recipe)
	return s.recipe == "" || s.recipe == string(is) || s.recipe == "grant" && is != recipes.RecipeQueue ||
		s.recipe == "line" && is != recipes.RecipeQueue && is != recipes.RecipeBarrier
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
	k.groupSize = 0
	k.path, k.open, k.notes = k.Root+"/"+strings.ReplaceAll(s.name, " ", "-"), nil, nil
	k.ended.Store(false)
	late := len(k.p.Late())
	during, cancel := context.WithCancel(k.ctx)
	k.during = during
	defer func() {
		cancel() // of pending attempts
		switch why := recover().(type) {
		case nil:
		case violation:
			done.Result, done.Why = Wrong, why.why
		case envError:
			done.Result, done.Why = Unknown, why.Error()
		default:
			panic(why)
		}
		for _, c := range k.open {
			_ = c.Close(k.ctx)
		}
		if err := k.p.Err(); err != nil && done.Result == OK && s.name != "end of stdin" {
			done.Result, done.Why = Wrong, err.Error()
		}
		if more := k.p.Late()[late:]; len(more) > 0 && done.Result == OK {
			done.Result, done.Why = Wrong, inWords(more)
		}
		if done.Result == OK {
			done.Why = inWords(k.notes)
		} else {
			done.Exchange = k.p.Exchange()
		}
	}()
	s.run(k)
	return done
}

func (k *checker) must(err error) {
	if err == nil {
		return
	}
	if k.p.Err() != nil {
		panic(violation{k.p.Err().Error()})
	}
	panic(envError{err})
}

func (k *checker) require(ok bool, format string, args ...any) {
	if k.p.Err() != nil {
		panic(violation{k.p.Err().Error()})
	}
	if !ok {
		panic(violation{fmt.Sprintf(format, args...)})
	}
}

func (k *checker) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

func inWords(noticed []string) string {
	times := map[string]int{}
	var once []string
	for _, n := range noticed {
		if times[n]++; times[n] == 1 {
			once = append(once, n)
		}
	}
	for i, n := range once {
		if times[n] > 1 {
			once[i] = fmt.Sprintf("%s (%d times)", n, times[n])
		}
	}
	return strings.Join(once, "; ")
}

func (k *checker) client() *host.Client {
	c, _ := k.clientAndEvents()
	return c
}

func (k *checker) clientAndEvents() (*host.Client, chan recipes.Event) {
	k.must(k.Environment.Make(k.ctx, k.path))
	k.must(k.Environment.Make(k.ctx, k.path+"-resource"))
	events := make(chan recipes.Event, 100)
	env := k.Environment.Env(k.numbers, k.path)
	env.Parent, env.Resource, env.Timeout, env.Client = k.path, k.path+"-resource", timeout, k.numbers
	env.Permits, env.Parties = k.groupSize, k.groupSize
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
	k.require(err == nil, "open must be answered ok once the client is connected: %v", err)
	k.open = append(k.open, c)
	if env.Seen().Session == 0 {
		later := k.waitUntil(2*time.Second, func() bool { return env.Seen().Session != 0 })
		k.require(!later, "open must be answered once the client is connected, but it was answered before the client had a session")
	}
	k.require(env.Seen().Session != 0, "each client must open its own session through the servers in \"connect\", but no session was seen there: the client shares another client's connection, or connects to other servers")
	return c, events
}

func (k *checker) ask(op string, client int) lines.Reply {
	a, err := k.p.Await(k.p.Send(lines.Request{Op: op, Client: &client}, nil), 10*time.Second)
	k.must(err)
	return a
}

const grantLimit = 10 * time.Second

func (k *checker) acquire(c *host.Client) recipes.Claim { return k.acquireAs(c, "") }

func (k *checker) acquireAs(c *host.Client, mode recipes.Mode) recipes.Claim {
	ctx, cancel := context.WithTimeout(k.ctx, grantLimit)
	defer cancel()
	claim, err := c.AcquireWith(ctx, recipes.AcquireOptions{Mode: mode})
	k.require(err == nil, "nothing blocks the acquire, but it was not granted within %v: %v", grantLimit, err)
	return claim
}

func (k *checker) release(c *host.Client) {
	ctx, cancel := context.WithTimeout(k.ctx, grantLimit)
	defer cancel()
	err := c.Release(ctx)
	k.require(err == nil, "a release that nothing blocks must be answered ok: %v", err)
}

func (k *checker) put(c *host.Client, item, what string) {
	ctx, cancel := context.WithTimeout(k.ctx, grantLimit)
	defer cancel()
	k.require(c.Put(ctx, []byte(item)) == nil, "%s must be answered ok", what)
}

func (k *checker) waitUntil(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); ; {
		if ok() {
			return true
		}
		if time.Now().After(end) || k.ctx.Err() != nil {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
}

type attempt struct {
	claim  recipes.Claim
	item   []byte
	err    error
	done   chan struct{}
	giveUp context.CancelFunc
}

func (k *checker) begin(f func(context.Context, *attempt)) *attempt {
	ctx, cancel := context.WithCancel(k.during)
	a := &attempt{done: make(chan struct{}), giveUp: cancel}
	go func() {
		defer close(a.done)
		f(ctx, a)
	}()
	return a
}

// waitingAcquire begins an acquire, which must wait. what describes it.
func (k *checker) waitingAcquire(c *host.Client, mode recipes.Mode, what string) *attempt {
	a := k.begin(func(ctx context.Context, a *attempt) {
		a.claim, a.err = c.AcquireWith(ctx, recipes.AcquireOptions{Mode: mode})
	})
	k.requireWaiting(a, what)
	return a
}

func (k *checker) beginRelease(c *host.Client) *attempt {
	return k.begin(func(ctx context.Context, a *attempt) { a.err = c.Release(ctx) })
}

func (k *checker) beginTake(c *host.Client) *attempt {
	return k.begin(func(ctx context.Context, a *attempt) { a.item, a.err = c.Take(ctx) })
}

func (k *checker) waitingTake(c *host.Client) *attempt {
	a := k.beginTake(c)
	k.requireWaiting(a, "a take from an empty queue")
	return a
}

func (a *attempt) awaitReturn(limit time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// requireWaiting ends the step if the attempt, which must wait, returns within 300 ms.
func (k *checker) requireWaiting(a *attempt, what string) {
	returned := a.awaitReturn(300 * time.Millisecond)
	if returned && k.ended.Load() {
		panic(envError{fmt.Errorf("%s returned, but a grant had ended without a release, so the lock may have been free", what)})
	}
	k.require(!returned, "%s returned, but it should have waited; its error: %v", what, a.err)
}

func (k *checker) nodes(session int64) int {
	n, err := k.Environment.Below(k.ctx, k.path, session)
	k.must(err)
	return n
}
