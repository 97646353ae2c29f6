package foreign

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// patience is for one answer. A JVM that starts on a busy machine takes seconds.
const patience = 60 * time.Second

// line is what a driver writes: an answer or an event.
type line struct {
	ID    int
	OK    map[string]any
	Error *struct{ Kind, Text string }
	Event string
	// Client and At are an event's.
	Client int
	At     int64
}

// exchange is a driver under test and the lines that have passed.
type exchange struct {
	t     *testing.T
	in    io.WriteCloser
	ended chan error // the driver's

	mu      sync.Mutex
	last    int // id
	waiting map[int]chan line
	events  chan line
	order   []int // ids as answered

	said   said
	opened map[int]bool // clients
}

// said is what a driver says of itself.
type said struct {
	Protocol int
	Recipe   recipes.Recipe
	About    string
	Variant  recipes.Variant
	Promises struct {
		Exclusive, FIFO bool
		Delivery        recipes.Delivery
	}
	Ops              []string
	Events, Requeues bool
	MaxClients       int `json:"max_clients"`
}

func start(t *testing.T, d Driver) *exchange {
	t.Helper()
	if err := d.Library.Missing(); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	command, err := d.Library.Command(ctx, d.Program)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	x := &exchange{t: t, ended: make(chan error, 1), waiting: map[int]chan line{}, events: make(chan line, 1000), opened: map[int]bool{}}
	x.in, _ = cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		x.read(out)
		x.ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		if t.Failed() {
			t.Logf("stderr of %s:\n%s", d.Name, said.String())
		}
	})
	text, _ := json.Marshal(x.ok("hello", 0, fields{"protocol": 1}))
	if err := json.Unmarshal(text, &x.said); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *exchange) can(op string) bool { return slices.Contains(x.said.Ops, op) }

// part plays a part of a test, and closes its clients.
func (x *exchange) part(t *testing.T, play func()) {
	whole := x.t
	x.t = t
	defer func() { x.t = whole }()
	play()
	for client := range x.opened {
		x.ok("close", client, nil)
	}
	clear(x.opened)
}

// open opens n clients at a fresh path.
func (x *exchange) open(n int) (path, resource string) {
	x.t.Helper()
	path, resource = freshPath(x.t)
	for i := range n {
		x.openAt(i, strings.Join(servers, ","), path, resource)
	}
	return path, resource
}

func (x *exchange) openAt(client int, connect, path, resource string) {
	x.t.Helper()
	open := fields{"connect": connect, "session_timeout_ms": sessionTimeout.Milliseconds(), "path": path, "resource": resource}
	if x.said.Recipe == recipes.RecipeSemaphore {
		open["permits"] = 2
	}
	if x.said.Recipe == recipes.RecipeBarrier {
		open["parties"] = 2
	}
	x.ok("open", client, open)
	x.opened[client] = true
}

// answered says as which the answer came.
func (x *exchange) answered(id int) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Index(x.order, id)
}

func (x *exchange) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			x.t.Errorf("not a line of JSON: %q", lines.Text())
			continue
		}
		x.mu.Lock()
		answered := x.waiting[l.ID]
		delete(x.waiting, l.ID)
		x.order = append(x.order, l.ID)
		x.mu.Unlock()
		switch {
		case l.Event != "":
			x.events <- l
		case answered == nil:
			x.t.Errorf("an answer to nothing: %q", lines.Text())
		default:
			answered <- l
		}
	}
}

type fields map[string]any

// send sends a request; its answer comes later.
func (x *exchange) send(op string, client int, more fields) (id int, answer <-chan line) {
	x.t.Helper()
	request := map[string]any{"op": op, "client": client}
	if x.said.Recipe == recipes.RecipeRWLock && op == "acquire" {
		request["mode"] = "write"
	}
	for k, v := range more {
		request[k] = v
	}
	got := make(chan line, 1)
	x.mu.Lock()
	x.last++
	id = x.last
	x.waiting[id] = got
	x.mu.Unlock()
	request["id"] = id
	text, _ := json.Marshal(request)
	if _, err := x.in.Write(append(text, '\n')); err != nil {
		x.t.Fatal(err)
	}
	return id, got
}

func (x *exchange) await(what string, answer <-chan line) line {
	x.t.Helper()
	select {
	case l := <-answer:
		return l
	case <-time.After(patience):
		x.t.Fatalf("no answer to %s", what)
		panic("unreachable")
	}
}

// ok makes a request that must succeed.
func (x *exchange) ok(op string, client int, more fields) map[string]any {
	x.t.Helper()
	_, answer := x.send(op, client, more)
	return x.good(op, answer)
}

func (x *exchange) good(what string, answer <-chan line) map[string]any {
	x.t.Helper()
	l := x.await(what, answer)
	if l.Error != nil {
		x.t.Fatalf("%s: %s: %s", what, l.Error.Kind, l.Error.Text)
	}
	return l.OK
}

// fails makes a request that must fail in that way.
func (x *exchange) fails(kind, op string, client int, more fields) {
	x.t.Helper()
	_, answer := x.send(op, client, more)
	x.bad(kind, op, answer)
}

func (x *exchange) bad(kind, what string, answer <-chan line) {
	x.t.Helper()
	l := x.await(what, answer)
	if l.Error == nil || l.Error.Kind != kind {
		x.t.Fatalf("%s: got %+v, want %s", what, l, kind)
	}
}

// event waits for events of a client, in any order.
func (x *exchange) event(client int, kinds ...string) {
	x.t.Helper()
	for len(kinds) > 0 {
		select {
		case l := <-x.events:
			i := slices.Index(kinds, l.Event)
			if i < 0 || l.Client != client || l.At == 0 {
				x.t.Fatalf("event %+v, want %v of client %d", l, kinds, client)
			}
			kinds = slices.Delete(kinds, i, i+1)
		case <-time.After(patience):
			x.t.Fatalf("no event %v of client %d", kinds, client)
		}
	}
}

// end closes stdin, whereupon the driver ends its sessions and exits.
func (x *exchange) end() {
	x.t.Helper()
	began := time.Now()
	x.in.Close()
	select {
	case err := <-x.ended:
		if err != nil {
			x.t.Errorf("after stdin's end: %v", err)
		}
		x.t.Logf("it exited %v after stdin's end", time.Since(began).Round(time.Millisecond))
	case <-time.After(10 * time.Second):
		x.t.Error("it still runs 10 s after stdin's end")
	}
}
