package wire_test

import (
	"io"
	"log"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

// rig is a tap with one client, whose events it remembers.
type rig struct {
	t      *testing.T
	addr   string
	tap    *wire.Tap
	client wire.Client

	mu     sync.Mutex
	events []wire.Event
}

func newRig(t *testing.T) *rig {
	t.Helper()
	start := time.Now()
	r := &rig{t: t, addr: zooKeeper(t), tap: wire.New(func() time.Duration { return time.Since(start) })}
	r.tap.OnEvent(func(e wire.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	})
	r.client = r.tap.Client(0)
	t.Cleanup(r.tap.Close)
	return r
}

// kinds are the kinds of its events, without those of deadlines, which depend on how quick
// the machine is.
func (r *rig) kinds() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var k []string
	for _, e := range r.events {
		if e.Kind != wire.Deadline {
			k = append(k, e.Kind.String())
		}
	}
	return strings.Join(k, " ")
}

// connect opens a session through the rig's client.
func (r *rig) connect(timeout time.Duration) *zk.Conn {
	r.t.Helper()
	// The same address twice: with one in its list, go-zookeeper waits a second
	// before it dials again.
	c, _, err := zk.Connect([]string{r.addr, r.addr}, timeout, zk.WithDialer(r.client.Dial),
		zk.WithLogger(quiet), zk.WithMaxBufferSize(1<<20), zk.WithMaxConnBufferSize(1<<16))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	wire.Until(r.t, "the session is up", func() bool { return c.State() == zk.StateHasSession })
	return c
}

// other opens a session that is not tapped, to read the tree with.
func (r *rig) other() *zk.Conn {
	r.t.Helper()
	c, _, err := zk.Connect([]string{r.addr}, 10*time.Second, zk.WithLogger(quiet))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	wire.Until(r.t, "the observer's session is up", func() bool { return c.State() == zk.StateHasSession })
	return c
}

func (r *rig) fired(s wire.ArmedRule) wire.Proof {
	r.t.Helper()
	select {
	case p, ok := <-s.Fired():
		if !ok {
			r.t.Fatal("the shot ended without firing")
		}
		return p
	case <-time.After(20 * time.Second):
		r.t.Fatal("the shot did not fire")
	}
	panic("not reached")
}

func (r *rig) arm(rule wire.Rule) wire.ArmedRule {
	r.t.Helper()
	s, err := r.client.Arm(rule)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// quiet swallows what go-zookeeper logs.
var quiet = log.New(io.Discard, "", 0)

var acl = zk.WorldACL(zk.PermAll)

// root makes a fresh node for the test to work under.
func root(t *testing.T, c *zk.Conn) string {
	t.Helper()
	p, err := c.Create("/wire-", nil, zk.FlagSequence, acl)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A recipe's step, hit 100 times of 100, with the truth looked up by another session.
// reconnected waits until the client has a connection again.
func (r *rig) reconnected(c *zk.Conn) {
	r.t.Helper()
	wire.Until(r.t, "the client is back", func() bool {
		if c.State() != zk.StateHasSession {
			return false
		}
		_, _, err := c.Exists("/")
		return err == nil
	})
}
