// Package driver turns a recipe in Go into a driver: a program that zkbench starts and that runs the
// recipe by the subject protocol (docs/PROTOCOL.md, zkbench help drivers).
//
//	func main() {
//		driver.Lock{
//			About: "mine",
//			Open: func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
//				conn, err := driver.Connect(ctx, env)
//				if err != nil {
//					return driver.Mutex{}, err
//				}
//				lock := mine.New(conn, env.Parent)
//				return driver.Mutex{Lock: lock.Lock, Unlock: lock.Unlock, Close: conn.Close}, nil
//			},
//		}.Main()
//	}
//
// A driver only translates. It adds no retry, clean-up, check or wait that the recipe's documentation
// does not require of a user: it would hide bugs of the recipe.
package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// Main serves the subject on stdin and stdout, and exits the program when stdin ends.
func Main(s recipes.Subject) { exit(Serve(context.Background(), s, os.Stdin, os.Stdout)) }

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Serve reads zkbench's requests from in and writes the answers to out. When in ends, it closes all
// clients and returns nil. It returns an error if a request cannot be read.
func Serve(ctx context.Context, s recipes.Subject, in io.Reader, out io.Writer) error {
	return ServeOver(ctx, s, net.DialTimeout, in, out)
}

// ServeOver is like Serve; the clients connect with dial.
func ServeOver(ctx context.Context, s recipes.Subject, dial zk.Dialer, in io.Reader, out io.Writer) error {
	d := &server{subject: s, ops: append(supportedOps(s), lines.OpAuth), dial: dial}
	return d.run(ctx, in, out)
}

func supportedOps(s recipes.Subject) []string {
	begin, end := lines.Ops(string(s.Recipe))
	ops := []string{begin, end}
	for op, offered := range map[string]bool{"cancel": !s.NoCancel, "write": s.Writes, "holds": s.ReportsHeld} {
		if offered {
			ops = append(ops, op)
		}
	}
	slices.Sort(ops)
	return ops
}

func (d *server) run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.ctx, d.out, d.clients = ctx, json.NewEncoder(out), map[int]*client{}
	d.out.SetEscapeHTML(false)
	r := bufio.NewScanner(in)
	r.Buffer(make([]byte, 4096), lines.MaxLine+1)
	for r.Scan() {
		var q lines.Request
		if err := json.Unmarshal(r.Bytes(), &q); err != nil {
			return fmt.Errorf("invalid request: %w: %s", err, r.Text())
		}
		d.serve(q)
	}
	cancel() // cancels all operations
	d.closeAll()
	return r.Err()
}

type server struct {
	ctx     context.Context
	subject recipes.Subject
	ops     []string
	dial    zk.Dialer // dialer of the clients
	working sync.WaitGroup

	mu      sync.Mutex // also guards out: one line at a time
	out     *json.Encoder
	clients map[int]*client
}

func instant(t time.Time) *lines.Int64 { return new(lines.Int64(clock.Reading(t))) }

func (d *server) writeReply(r lines.Reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.out.Encode(r) // after an error, in ends too
}

func (d *server) ok(q lines.Request, ok lines.OK) {
	d.writeReply(lines.Reply{ID: new(lines.Int64(q.ID)), OK: &ok})
}

func (d *server) refuse(q lines.Request, kind, format string, args ...any) {
	d.fail(q, lines.Error{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (d *server) fail(q lines.Request, why lines.Error) {
	d.writeReply(lines.Reply{ID: new(lines.Int64(q.ID)), Error: &why})
}

// serve answers a request, in a new goroutine if that may take time.
func (d *server) serve(q lines.Request) {
	n := -1
	if q.Client != nil {
		n = *q.Client
	}
	d.mu.Lock()
	c := d.clients[n]
	d.mu.Unlock()
	switch {
	case q.Op == "acquire" && d.subject.Recipe == recipes.RecipeRWLock && q.Mode != string(recipes.Read) && q.Mode != string(recipes.Write):
		d.refuse(q, lines.Failed, "mode is %q, but must be %s or %s", q.Mode, recipes.Read, recipes.Write)
	case q.Op == "hello" && q.Protocol != lines.Protocol:
		d.refuse(q, lines.Unsupported, "this driver speaks protocol %d, not %d", lines.Protocol, q.Protocol)
	case q.Op == "hello":
		d.ok(q, lines.OK{Hello: d.hello()})
	case q.Op == "clock":
		d.ok(q, lines.OK{Now: instant(time.Now())})
	case q.Op == "open":
		d.working.Go(func() { d.open(q, n) })
	case c == nil:
		d.refuse(q, lines.Failed, "client %d is not open", n)
	case q.Op == "cancel" && slices.Contains(d.ops, q.Op):
		c.cancelPending()
		d.ok(q, lines.OK{})
	case q.Op == "holds" && slices.Contains(d.ops, q.Op):
		d.ok(q, lines.OK{Holds: new(c.Client.(recipes.HeldReporter).Holds())})
	case q.Op == "close":
		d.working.Go(func() { d.close(q, n, c) })
	case operations[q.Op] == nil || !slices.Contains(d.ops, q.Op):
		d.refuse(q, lines.Unsupported, "operation %q is not supported", q.Op)
	default:
		d.begin(q, c)
	}
}

func (d *server) hello() *lines.Hello {
	s := d.subject
	return &lines.Hello{
		Protocol: lines.Protocol, Recipe: string(s.Recipe), About: s.About, Variant: string(s.Variant),
		Promises: lines.Promises{Exclusive: s.Promises.Exclusive, FIFO: s.Promises.FIFO, Delivery: string(s.Promises.Delivery), Writers: s.Promises.Writers},
		Ops:      d.ops, Events: s.Promises.Events, Requeues: s.Promises.Requeues, Rejoins: s.Promises.Rejoins, MaxClients: 1000,
	}
}

const openLimit = 15 * time.Second

func (d *server) open(q lines.Request, n int) {
	ctx, cancel := context.WithTimeout(d.ctx, openLimit)
	defer cancel()
	opened, err := d.subject.Open(ctx, recipes.Env{
		Servers: strings.Split(q.Connect, ","), Parent: q.Path, Timeout: time.Duration(q.TimeoutMS) * time.Millisecond,
		Dial: d.dial, MaxPacket: 256 << 10, Client: n, Resource: q.Resource, Permits: q.Permits, Parties: q.Parties,
		Events: func(e recipes.Event) { d.event(n, e) }, Auth: q.Auth, ACL: acl(q),
	})
	if err != nil {
		d.refuse(q, lines.Failed, "%v", err)
		return
	}
	d.mu.Lock()
	d.clients[n] = &client{Client: opened, resource: q.Resource}
	d.mu.Unlock()
	d.ok(q, lines.OK{})
}

func acl(q lines.Request) (of []zk.ACL) {
	for _, a := range q.ACL {
		of = append(of, zk.ACL{Scheme: a.Scheme, ID: a.ID, Perms: a.Perms})
	}
	return of
}

func (d *server) event(n int, e recipes.Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	d.writeReply(lines.Reply{Event: string(e.Kind), Client: new(lines.Int64(n)), At: instant(e.At)})
}

type client struct {
	recipes.Client
	resource string
	mu       sync.Mutex
	pending  *operation // the pending operation, or nil
}

type operation struct {
	request lines.Request
	cancel  context.CancelCauseFunc
	answer  sync.Once
	done    chan struct{} // closed when the operation is answered
}

func acquire(ctx context.Context, c *client, q lines.Request) (lines.OK, time.Time, error) {
	acquire := c.Client.(recipes.Contender).Acquire
	if q.Mode != "" {
		acquire = func(ctx context.Context) (recipes.Claim, error) {
			return c.Client.(recipes.OptionContender).AcquireWith(ctx, recipes.AcquireOptions{Mode: recipes.Mode(q.Mode)})
		}
	}
	claim, err := acquire(ctx)
	ok := lines.OK{Node: claim.Path}
	if claim.Session != 0 {
		ok.Session = (*lines.Int64)(&claim.Session)
	}
	if claim.Token != 0 {
		ok.Token = (*lines.Int64)(&claim.Token)
	}
	return ok, claim.At, err
}

func release(ctx context.Context, c *client, _ lines.Request) (lines.OK, time.Time, error) {
	return lines.OK{}, time.Time{}, c.Client.(recipes.Contender).Release(ctx)
}

var operations = map[string]func(ctx context.Context, c *client, q lines.Request) (lines.OK, time.Time, error){
	"acquire": acquire, "release": release,
	"enter": acquire, "leave": release,
	"put": func(ctx context.Context, c *client, q lines.Request) (lines.OK, time.Time, error) {
		return lines.OK{}, time.Time{}, c.Client.(recipes.QueueClient).Put(ctx, []byte(q.Item))
	},
	"take": func(ctx context.Context, c *client, _ lines.Request) (lines.OK, time.Time, error) {
		item, err := c.Client.(recipes.QueueClient).Take(ctx)
		return lines.OK{Item: new(string(item))}, time.Time{}, err
	},
	"write": func(ctx context.Context, c *client, q lines.Request) (lines.OK, time.Time, error) {
		return lines.OK{}, time.Time{}, c.Client.(recipes.Worker).Write(ctx, c.resource, q.Value)
	},
}

var errCancelled = errors.New("cancelled on request")

func (d *server) begin(q lines.Request, c *client) {
	ctx, cancel := context.WithCancelCause(d.ctx)
	o := &operation{request: q, cancel: cancel, done: make(chan struct{})}
	c.mu.Lock()
	busy := c.pending != nil
	if !busy {
		c.pending = o
	}
	c.mu.Unlock()
	if busy {
		cancel(nil)
		d.refuse(q, lines.Failed, "another operation of client %d is pending", *q.Client)
		return
	}
	d.working.Go(func() {
		defer cancel(nil)
		called := time.Now()
		ok, at, err := operations[q.Op](ctx, c, q)
		if at.IsZero() {
			at = time.Now()
		}
		o.answer.Do(func() {
			c.setIdle()
			defer close(o.done)
			ok.Times = lines.Times{Called: instant(called), At: instant(at)}
			if err != nil {
				d.fail(q, lines.Error{Times: ok.Times, Kind: kindOf(err), Text: err.Error()})
				return
			}
			d.ok(q, ok)
		})
	})
}

func kindOf(err error) string {
	switch {
	case recipes.Indeterminate(err):
		return lines.Unknown
	case errors.Is(err, recipes.ErrSessionEnded), errors.Is(err, recipes.ErrGrantLost):
		return lines.Lost
	case errors.Is(err, errCancelled), errors.Is(err, context.Canceled):
		return lines.Cancelled
	}
	return lines.Failed
}

// setIdle marks the client as idle, before the reply is written: the next request may follow at once.
func (c *client) setIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = nil
}

func (c *client) cancelPending() *operation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		c.pending.cancel(errCancelled)
	}
	return c.pending
}

// giveUpLimit bounds the time that a recipe needs to give up before its client is closed.
const giveUpLimit = 5 * time.Second

// close ends a client's session, after its pending operation has been cancelled.
func (d *server) close(q lines.Request, n int, c *client) {
	d.mu.Lock()
	delete(d.clients, n)
	d.mu.Unlock()
	o := c.cancelPending()
	if o != nil && slices.Contains(d.ops, "cancel") {
		o.await(giveUpLimit)
	}
	ctx, cancel := context.WithTimeout(context.Background(), giveUpLimit)
	defer cancel()
	_ = c.Close(ctx) // after an error the session expires
	if o != nil && !o.await(time.Second) {
		o.answer.Do(func() {
			c.setIdle()
			defer close(o.done)
			d.refuse(o.request, lines.Cancelled, "the client was closed")
		})
	}
	if q.ID != 0 {
		d.ok(q, lines.OK{})
	}
}

func (o *operation) await(limit time.Duration) bool {
	select {
	case <-o.done:
		return true
	case <-time.After(limit):
		return false
	}
}

func (d *server) closeAll() {
	d.mu.Lock()
	open := maps.Clone(d.clients)
	d.mu.Unlock()
	for n, c := range open {
		d.working.Go(func() { d.close(lines.Request{}, n, c) })
	}
	d.working.Wait()
}
