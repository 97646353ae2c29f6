package foreign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
)

// contenders are the recipes whose clients stand in line directly below the path.
var contenders = []recipes.Recipe{recipes.RecipeLock, recipes.RecipeElection, recipes.RecipeRWLock}

// trial is a registered subject in a trial of its own. A driver is connected through the tap.
type trial struct {
	recipes.Subject
	tap    *wire.Tap
	events chan recipes.Event
	opened int // number of clients so far
}

func startTrial(t *testing.T, name string) *trial {
	t.Helper()
	s, err := recipes.Find(name)
	must(t, err)
	began := time.Now()
	x := &trial{Subject: s, tap: wire.New(func() time.Duration { return time.Since(began) }), events: make(chan recipes.Event, 100)}
	t.Cleanup(x.tap.Close)
	if s.Missing != nil && s.Missing() != nil {
		t.Skip(s.Missing())
	}
	if s.Start != nil {
		var stop func()
		x.Subject, stop, err = s.Start(t.Context(), recipes.Trial{Owner: "test", Fail: func(err error) { t.Error(err) }})
		t.Cleanup(stop)
		must(t, err)
	}
	return x
}

// open opens a client that has the next number.
func (x *trial) open(t *testing.T, path, resource string) recipes.Client {
	t.Helper()
	number := x.opened
	x.opened++
	c, err := x.Open(t.Context(), recipes.Env{
		Servers: servers, Parent: path, Timeout: sessionTimeout, MaxPacket: 256 << 10, Client: number, Resource: resource,
		Connect: func() ([]string, error) {
			addr, err := x.tap.Client(number).Listen(servers[0], nil)
			return []string{addr}, err
		},
		Events: func(e recipes.Event) { x.events <- e },
	})
	must(t, err)
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// TestDrivers plays every driver as a trial does. TestCheckDriver_findsOthersSound, of package scenarios,
// checks them against each rule of the protocol.
func TestDrivers(t *testing.T) {
	for _, d := range Drivers() {
		t.Run(strings.ReplaceAll(d.Name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			x := startTrial(t, d.Name)
			path, resource := freshPath(t)
			a, b := x.open(t, path, resource).(*host.Client), x.open(t, path, resource).(*host.Client)
			hello := a.Process().Hello
			if x.Recipe != d.Recipe || x.Variant != d.Variant || x.Promises != d.Promises || hello.About == "" || hello.MaxClients < 10 {
				t.Errorf("the driver says %+v, the subject %+v", hello, d.Subject)
			}
			contends := slices.Contains(contenders, d.Recipe)
			switch {
			case contends:
				takeTurns(t, path, a, b)
			case d.Recipe == recipes.RecipeQueue:
				passItems(t, a)
			default:
				for range 3 {
					must(t, acquire(t.Context(), path, a))
					must(t, a.Release(t.Context()))
				}
			}
			must(t, errors.Join(a.Close(t.Context()), b.Close(t.Context())))
			if len(x.events) > 0 {
				t.Errorf("event %+v: closing is no news", <-x.events)
			}

			path, resource = freshPath(t)
			c := x.open(t, path, resource).(*host.Client)
			if d.Recipe != recipes.RecipeQueue {
				must(t, acquire(t.Context(), path, c))
			}
			x.losesConnection(t, c)
			if contends { // when stdin ends, one holds and one waits
				second := x.open(t, path, resource).(*host.Client)
				go func() { _ = acquire(context.Background(), path, second) }()
				standing(t, path, 2)
			}
			must(t, c.Process().Stop())
			if contends {
				standing(t, path, 0)
			}
		})
	}
}

// takeTurns has b give up three times behind a, and then be granted after it, by a node of a's that no
// given-up acquire still watches.
func takeTurns(t *testing.T, path string, a, b *host.Client) {
	ctx := t.Context()
	must(t, acquire(ctx, path, a))
	begin := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() { done <- acquire(ctx, path, b) }()
		standing(t, path, 2)
		return done
	}
	for range 3 {
		waiting, giveUp := context.WithCancel(ctx)
		second := begin(waiting)
		giveUp()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Fatalf("an acquire that was given up: %v", err)
		}
		standing(t, path, 1)
	}
	must(t, a.Release(ctx))
	must(t, acquire(ctx, path, a))
	second := begin(ctx)
	watched(t, path)
	if len(second) > 0 {
		t.Fatalf("it returned beside the holder: %v", <-second)
	}
	must(t, a.Release(ctx))
	must(t, <-second)
	must(t, b.Release(ctx))
}

// acquire acquires, and looks at the claim: its node, if it is named, is there, and the session's own.
func acquire(ctx context.Context, path string, c *host.Client) error {
	claim, err := c.Acquire(ctx)
	if err != nil {
		return err
	}
	if claim.At.IsZero() {
		return fmt.Errorf("claim %+v has no time", claim)
	}
	if claim.Path == "" {
		return nil
	}
	_, stat, err := eye.Get(claim.Path)
	if err == nil && (stat.EphemeralOwner != claim.Session || !strings.HasPrefix(claim.Path, path+"/")) {
		err = fmt.Errorf("claim %+v below %s, of a node of session %#x", claim, path, stat.EphemeralOwner)
	}
	return err
}

// passItems passes items through a queue, in order, and one more after takes that were given up. Where nothing
// ends a take but a close, the last item may come again.
func passItems(t *testing.T, q *host.Client) {
	ctx, given := t.Context(), []string{"item-0", "item-1", "item-2"}
	for _, item := range given {
		must(t, q.Put(ctx, []byte(item)))
	}
	take := func(want string) {
		t.Helper()
		if got, err := q.Take(ctx); err != nil || string(got) != want {
			t.Fatalf("took %q, %v; want %s", got, err, want)
		}
	}
	for _, item := range given {
		take(item)
	}
	if !q.Offers("cancel") {
		return
	}
	givenUp, giveUp := context.WithCancel(ctx)
	giveUp()
	for range 3 {
		if item, err := q.Take(givenUp); !errors.Is(err, context.Canceled) {
			t.Fatalf("a take that was given up: %q, %v", item, err)
		}
	}
	must(t, q.Put(ctx, []byte("after")))
	take("after")
}

// losesConnection cuts a client off and lets it return. One that requeues by itself has lost its leadership,
// and two threads report that and the connection; later it leads again.
func (x *trial) losesConnection(t *testing.T, c *host.Client) {
	ended := false
	next := func(want recipes.EventKind) {
		t.Helper()
		for {
			select {
			case e := <-x.events:
				if e.Kind == recipes.EventEnded && x.Promises.Requeues {
					ended = true
					continue
				}
				if e.Kind != want {
					t.Fatalf("event %+v, want %s", e, want)
				}
				return
			case <-time.After(patience):
				t.Fatalf("no event %s", want)
			}
		}
	}
	tap := x.tap.Client(c.Number())
	tap.SetGateClosed(true)
	tap.Cut()
	next(recipes.EventSuspended)
	tap.SetGateClosed(false)
	next(recipes.EventRestored)
	if !x.Promises.Requeues {
		return
	}
	until(t, "it leads again", func() bool { holds, err := c.Holds(); return err == nil && holds })
	for len(x.events) > 0 {
		ended = (<-x.events).Kind == recipes.EventEnded || ended
	}
	if !ended {
		t.Error("no event says that the first term has ended")
	}
}

// A cancel that comes after the grant is answered ok, and the client still holds.
func TestDrivers_ignoreACancelAfterTheGrant(t *testing.T) {
	for _, d := range Drivers() {
		if !slices.Contains(contenders, d.Recipe) {
			continue
		}
		t.Run(strings.ReplaceAll(d.Name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			if err := d.Library.Missing(); err != nil {
				t.Skip(err)
			}
			command, err := d.Library.Command(t.Context(), d.Program)
			must(t, err)
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			in, err := cmd.StdinPipe()
			must(t, err)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			answers := bufio.NewScanner(out)
			path, resource := freshPath(t)
			for id, request := range []string{
				`"op":"hello","protocol":1`,
				fmt.Sprintf(`"op":"open","connect":%q,"session_timeout_ms":4000,"path":%q,"resource":%q`, servers[0], path, resource),
				`"op":"acquire","mode":"write"`,
				`"op":"cancel"`,
				`"op":"release"`,
				`"op":"close"`,
			} {
				fmt.Fprintf(in, `{"id":%d,"client":0,%s}`+"\n", id+1, request)
				if !answers.Scan() || !strings.Contains(answers.Text(), `"ok"`) {
					t.Fatalf("%s was answered: %s", request, answers.Text())
				}
			}
			must(t, in.Close())
			must(t, cmd.Wait())
		})
	}
}
