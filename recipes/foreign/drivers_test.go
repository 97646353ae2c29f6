package foreign

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
)

// TestDrivers plays every driver through the protocol, against a real server, part by part in one process.
func TestDrivers(t *testing.T) {
	contenders := []recipes.Recipe{recipes.RecipeLock, recipes.RecipeElection, recipes.RecipeRWLock}
	queues := []recipes.Recipe{recipes.RecipeQueue}
	all := slices.Concat(contenders, queues)
	every := append([]recipes.Recipe{recipes.RecipeSemaphore, recipes.RecipeBarrier}, all...)
	parts := []struct {
		name string
		of   []recipes.Recipe
		play func(x *exchange, d Driver)
	}{
		{"it says of itself what the subject says", every, introduction},
		{"readers hold together, a writer alone", []recipes.Recipe{recipes.RecipeRWLock}, sharing},
		{"as many hold as there are permits", []recipes.Recipe{recipes.RecipeSemaphore}, sharing},
		{"both parties enter and leave together", []recipes.Recipe{recipes.RecipeBarrier}, meeting},
		{"the second waits for the first, and is granted after it", contenders, contention},
		{"an acquire is given up, and another one succeeds", contenders, givingUp},
		{"a timed try ends in time", contenders, timedTry},
		{"every item is handed out, in order", queues, items},
		{"a waiting take is given up", queues, givingUpTake},
		{"a client that is closed answers its operation first", all, closing},
		{"a client learns what becomes of its session", all, connection},
	}
	for _, d := range Drivers() {
		t.Run(strings.ReplaceAll(d.Name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			x := start(t, d)
			for _, part := range parts {
				if slices.Contains(part.of, d.Recipe) {
					t.Run(part.name, func(t *testing.T) { x.part(t, func() { part.play(x, d) }) })
				}
			}
			path, _ := x.open(3)
			if slices.Contains(contenders, d.Recipe) {
				x.ok("acquire", 0, nil)
				x.send("acquire", 1, nil)
				standing(t, path, 2)
			}
			x.end()
			if slices.Contains(contenders, d.Recipe) {
				standing(t, path, 0)
			}
		})
	}
}

// sharing lets two clients hold together, and a third one, a writer, after one or both have released.
func sharing(x *exchange, d Driver) {
	path, _ := x.open(3)
	together := fields{"mode": "read"}
	x.checkClaim(x.ok("acquire", 0, together), path)
	x.checkClaim(x.ok("acquire", 1, together), path)
	_, third := x.send("acquire", 2, nil)
	if d.Recipe == recipes.RecipeRWLock {
		standing(x.t, path, 3)
		x.ok("release", 1, nil)
		standing(x.t, path, 2)
		x.fails("failed", "acquire", 1, fields{"mode": "both"})
	}
	if len(third) > 0 {
		x.t.Fatalf("granted beside the holders: %+v", <-third)
	}
	x.ok("release", 0, nil)
	x.checkClaim(x.good("acquire of the third", third), path)
	x.ok("release", 2, nil)
}

// meeting lets two generations of two parties pass.
func meeting(x *exchange, _ Driver) {
	path, _ := x.open(2)
	for range 2 {
		_, first := x.send("enter", 0, nil)
		standing(x.t, path, 1)
		if len(first) > 0 {
			x.t.Fatalf("passed alone: %+v", <-first)
		}
		x.checkClaim(x.ok("enter", 1, nil), path)
		x.checkClaim(x.good("enter of the first", first), path)
		_, left := x.send("leave", 0, nil)
		x.ok("clock", 1, nil)
		if len(left) > 0 {
			x.t.Fatalf("left alone: %+v", <-left)
		}
		x.ok("leave", 1, nil)
		x.good("leave of the first", left)
	}
	x.fails("failed", "leave", 1, nil)
}

func introduction(x *exchange, d Driver) {
	p, said := d.Promises, x.said
	if said.Protocol != 1 || said.Recipe != d.Recipe || said.Variant != d.Variant || said.About == "" || said.MaxClients < 10 ||
		said.Promises.Exclusive != p.Exclusive || said.Promises.FIFO != p.FIFO || said.Promises.Delivery != p.Delivery ||
		said.Requeues != p.Requeues || said.Events != p.Events {
		x.t.Errorf("the driver says %+v, the subject %+v", said, d.Subject)
	}
	x.fails("unsupported", "hello", 0, fields{"protocol": 2})
	x.fails("unsupported", "juggle", 0, nil)
	x.fails("failed", said.Ops[0], 7, nil)
	earlier := x.ok("clock", 0, nil)["now"].(float64)
	if later := x.ok("clock", 0, nil)["now"].(float64); later < earlier {
		x.t.Errorf("the clock goes back: %f after %f", later, earlier)
	}
}

func contention(x *exchange, _ Driver) {
	path, resource := x.open(2)
	x.checkClaim(x.ok("acquire", 0, nil), path)
	_, second := x.send("acquire", 1, nil)
	standing(x.t, path, 2)
	watched(x.t, path)
	if len(second) > 0 {
		x.t.Fatalf("granted beside the holder: %+v", <-second)
	}
	if x.can("holds") && (x.ok("holds", 0, nil)["holds"] != true || x.ok("holds", 1, nil)["holds"] != false) {
		x.t.Error("the first holds, the second does not; they say otherwise")
	}
	x.ok("write", 0, fields{"value": "mine"})
	if value, _, _ := eye.Get(resource); string(value) != "mine" {
		x.t.Errorf("the resource has %q", value)
	}
	x.ok("release", 0, nil)
	x.checkClaim(x.good("acquire of the second", second), path)
	x.ok("release", 1, nil)
	x.fails("failed", "release", 1, nil)
}

// checkClaim looks at what an acquire brought: the node, if it is named, is there, and the session's own.
func (x *exchange) checkClaim(claim map[string]any, path string) {
	x.t.Helper()
	if called, at := claim["called"].(float64), claim["at"].(float64); called == 0 || at < called {
		x.t.Errorf("called at %f, returned at %f", called, at)
	}
	node, _ := claim["node"].(string)
	if node == "" {
		return
	}
	_, stat, err := eye.Get(node)
	if err != nil || !strings.HasPrefix(node, path+"/") {
		x.t.Fatalf("node %s: %v", node, err)
	}
	if session := claim["session"].(float64); float64(stat.EphemeralOwner) != session {
		x.t.Errorf("node %s belongs to %x, not to %x", node, stat.EphemeralOwner, int64(session))
	}
}

func givingUp(x *exchange, _ Driver) {
	path, _ := x.open(2)
	x.ok("cancel", 1, nil) // touches nothing
	x.ok("acquire", 0, nil)
	for range 3 {
		_, second := x.send("acquire", 1, nil)
		standing(x.t, path, 2)
		x.ok("cancel", 1, nil)
		x.bad("cancelled", "acquire that was given up", second)
		standing(x.t, path, 1)
	}
	x.ok("release", 0, nil)
	x.ok("acquire", 0, nil) // by a node that no given-up acquire still watches
	_, second := x.send("acquire", 1, nil)
	standing(x.t, path, 2)
	watched(x.t, path)
	x.ok("release", 0, nil)
	x.good("acquire of the second", second)
	x.ok("cancel", 1, nil) // too late: it holds
	x.ok("release", 1, nil)
}

func timedTry(x *exchange, d Driver) {
	if !x.can("limit") {
		x.t.Skipf("%s has none", d.Name)
	}
	path, _ := x.open(2)
	x.ok("acquire", 0, fields{"limit_ms": 60000})
	x.fails("timeout", "acquire", 1, fields{"limit_ms": 0})
	x.fails("timeout", "acquire", 1, fields{"limit_ms": 100})
	standing(x.t, path, 1)
	x.ok("release", 0, nil)
	x.ok("acquire", 1, fields{"limit_ms": 60000})
}

func items(x *exchange, _ Driver) {
	x.open(2)
	for i := range 5 {
		x.ok("put", 0, fields{"item": fmt.Sprint("item-", i)})
	}
	for i := range 5 {
		if got := x.ok("take", 1, nil)["item"]; got != fmt.Sprint("item-", i) {
			x.t.Fatalf("take %d brought %v", i, got)
		}
	}
	_, waiting := x.send("take", 1, nil)
	x.ok("put", 0, fields{"item": "late"})
	if got := x.good("the waiting take", waiting)["item"]; got != "late" {
		x.t.Errorf("the waiting take brought %v", got)
	}
}

func givingUpTake(x *exchange, d Driver) {
	if !x.can("cancel") {
		x.fails("unsupported", "cancel", 0, nil)
		x.t.Skipf("nothing ends a take of %s", d.Name)
	}
	x.open(1)
	for range 3 {
		_, waiting := x.send("take", 0, nil)
		x.ok("cancel", 0, nil)
		x.bad("cancelled", "take that was given up", waiting)
	}
	x.ok("put", 0, fields{"item": "after"})
	if got := x.ok("take", 0, nil)["item"]; got != "after" {
		x.t.Errorf("take brought %v", got)
	}
}

func closing(x *exchange, d Driver) {
	path, resource := x.open(2)
	op := "take"
	if d.Recipe != recipes.RecipeQueue {
		op = "acquire"
		x.ok("acquire", 0, nil)
	}
	waits, operation := x.send(op, 1, nil)
	if op == "acquire" {
		standing(x.t, path, 2)
	}
	closes, closed := x.send("close", 1, nil)
	x.bad("cancelled", op, operation)
	x.good("close", closed)
	if x.answered(waits) > x.answered(closes) {
		x.t.Error("close was answered before the operation")
	}
	x.fails("failed", op, 1, nil)
	if op == "acquire" {
		standing(x.t, path, 1)
	}
	x.openAt(1, strings.Join(servers, ","), path, resource)
	if len(x.events) > 0 {
		x.t.Errorf("event %+v: closing is no news", <-x.events)
	}
}

func connection(x *exchange, d Driver) {
	path, resource := freshPath(x.t)
	r := newRelay(x.t)
	x.openAt(0, r.addr(), path, resource)
	if d.Recipe != recipes.RecipeQueue {
		x.ok("acquire", 0, nil)
	}
	r.cut()
	if d.Promises.Requeues { // two threads report that the connection is lost, and that the leader stops and is in line again
		x.event(0, "suspended", "ended")
	} else {
		x.event(0, "suspended")
	}
	r.mend()
	x.event(0, "restored")
	if d.Recipe == recipes.RecipeQueue {
		return
	}
	if d.Promises.Requeues {
		until(x.t, "it leads again", func() bool { return x.ok("holds", 0, nil)["holds"] == true })
	}
	r.cut()
	x.event(0, "suspended")
	standing(x.t, path, 0)
	r.mend()
	x.event(0, "lost")
	x.ok("close", 0, nil)
	delete(x.opened, 0)
	if len(x.events) > 0 {
		x.t.Errorf("event %+v after the session was lost", <-x.events)
	}
}
