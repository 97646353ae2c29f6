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
	"fmt"
	"io"
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
