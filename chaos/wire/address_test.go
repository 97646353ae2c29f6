package wire_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// movable returns a rig whose client knows the server by name, or by address if hosts is empty.
func movable(t *testing.T, hosts string) (*rig, *wire.Addresses) {
	r := newRig(t)
	a, err := r.tap.NewAddresses([]string{r.addr}, hosts)
	must(t, err)
	return r, a
}

// resolve returns the address of host:port by the hosts file.
func resolve(t *testing.T, hosts, addr string) string {
	t.Helper()
	text, err := os.ReadFile(hosts)
	must(t, err)
	host, port, err := net.SplitHostPort(addr)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == host {
			return net.JoinHostPort(f[0], port)
		}
	}
	t.Fatalf("%s has no line for %s:\n%s", hosts, host, text)
	return ""
}

func refuses(t *testing.T, addr string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection to %s: %v, want it refused", addr, err)
	}
}

func TestMove_isFoundByThoseThatResolveAgain(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts")
	r, a := movable(t, hosts)
	open, err := os.Open(hosts) // as a file that is mounted elsewhere
	must(t, err)
	defer open.Close()
	name := r.listen(nil)
	c := r.open(func(network, addr string, limit time.Duration) (net.Conn, error) {
		return net.DialTimeout(network, resolve(t, hosts, name), limit)
	}, r.addr, 10*time.Second)
	before, session := resolve(t, hosts, name), c.SessionID()
	for range 2 {
		old := resolve(t, hosts, name)
		oldOwn, nowOwn, err := a.Move(r.addr)
		must(t, err)
		now := resolve(t, hosts, name)
		if now == old || now == before || r.listen(nil) != name {
			t.Errorf("%s was %s, and is %s, now known as %s", name, old, now, r.listen(nil))
		}
		if host, _, _ := net.SplitHostPort(nowOwn); !strings.HasPrefix(now, host+":") || nowOwn == oldOwn {
			t.Errorf("zkbench's own address was %s and is %s; the client's is %s", oldOwn, nowOwn, now)
		}
		refuses(t, old)
		refuses(t, oldOwn)
		r.reconnected(c)
	}
	if c.SessionID() != session || r.client.Session().Server != r.addr {
		t.Errorf("session %#x became %+v", session, r.client.Session())
	}
	text, err := os.ReadFile(hosts)
	must(t, err)
	same := make([]byte, len(text)+1)
	if n, _ := open.ReadAt(same, 0); string(same[:n]) != string(text) {
		t.Errorf("the file was replaced, so a mount of it would still read %q", same[:n])
	}
}

func TestMove_leavesBehindThoseThatKnowAddresses(t *testing.T) {
	r, a := movable(t, "")
	first := r.listen(nil)
	r.outside(10 * time.Second)
	if err := a.CheckMove(r.addr); err == nil {
		t.Error("the only server may move, and nobody would know its address")
	}
	before := r.tap.Totals()
	_, now, err := a.Move(r.addr)
	must(t, err)
	refuses(t, first)
	if again := r.listen(nil); again != first {
		t.Errorf("it is known by %s, and was by %s", again, first)
	}
	late, err := r.tap.Client(1).Listen(r.addr, nil)
	must(t, err)
	refuses(t, late) // a client that comes later knows the same list
	knock, err := net.Dial("tcp", now)
	must(t, err)
	knock.Close()
	if d := r.tap.Totals().Sub(before); d.Dials+d.Connections > 0 {
		t.Errorf("connections of zkbench itself were counted as a client's: %+v", d)
	}
}
