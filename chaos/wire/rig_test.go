package wire_test

import (
	"io"
	"log"
	"net"
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

// newRig returns a rig for the shared server.
func newRig(t *testing.T) *rig {
	t.Helper()
	return rigAt(t, zooKeeper(t))
}

// rigAt returns a rig for the server at addr.
func rigAt(t *testing.T, addr string) *rig {
	start := time.Now()
	r := &rig{t: t, addr: addr, tap: wire.New(func() time.Duration { return time.Since(start) })}
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

// open opens a session that ends with the test.
func (r *rig) open(dial wire.Dialer, addr string, timeout time.Duration) *zk.Conn {
	r.t.Helper()
	// The same address twice: with one in its list, go-zookeeper waits a second
	// before it dials again.
	c, _, err := zk.Connect([]string{addr, addr}, timeout, zk.WithDialer(dial), zk.WithLogger(quiet),
		zk.WithMaxBufferSize(2<<20), zk.WithMaxConnBufferSize(2<<20))
	must(r.t, err)
	r.t.Cleanup(c.Close)
	wire.Until(r.t, "the session is up", func() bool { return c.State() == zk.StateHasSession })
	return c
}

// connect opens a session through the rig's client.
func (r *rig) connect(timeout time.Duration) *zk.Conn { return r.open(r.client.Dial, r.addr, timeout) }

// outside opens a session as another process does: it knows nothing but an address.
func (r *rig) outside(timeout time.Duration) *zk.Conn {
	return r.open(net.DialTimeout, r.listen(nil), timeout)
}

// other opens a session that is not tapped, to read the tree with.
func (r *rig) other() *zk.Conn { return r.open(net.DialTimeout, r.addr, 10*time.Second) }

// listen returns the address at which the client's listener stands for the server.
func (r *rig) listen(between func(wire.Dialer) wire.Dialer) string {
	r.t.Helper()
	addr, err := r.client.Listen(r.addr, between)
	must(r.t, err)
	return addr
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
	must(r.t, err)
	return s
}

// quiet swallows what go-zookeeper logs.
var quiet = log.New(io.Discard, "", 0)

var acl = zk.WorldACL(zk.PermAll)

// root makes a fresh node for the test to work under.
func root(t *testing.T, c *zk.Conn) string {
	t.Helper()
	p, err := c.Create("/wire-", nil, zk.FlagSequence, acl)
	must(t, err)
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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
