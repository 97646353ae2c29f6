package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/chaos/wire"
)

// knock connects to the listener, without a session.
func (r *rig) knock() *net.TCPConn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.listen(nil))
	must(r.t, err)
	r.t.Cleanup(func() { c.Close() })
	must(r.t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	return c.(*net.TCPConn)
}

func TestNode_isTheNewestOfTheSession(t *testing.T) {
	r := newRig(t)
	c, o := r.outside(4*time.Second), r.other()
	top := root(t, o)
	const sequential = zk.FlagEphemeral | zk.FlagSequence
	create := func(name string, flags int32) func() error {
		return func() error { _, err := c.Create(top+name, []byte("data"), flags, acl); return err }
	}
	remove := func(name string) func() error { return func() error { return c.Delete(top+name, -1) } }
	nothing := func() error { return nil }
	for _, step := range []struct {
		what        string
		do          func() error
		below, want string // the end of the node's path; "" for none
	}{
		{"nothing is made", nothing, "", ""},
		{"a persistent node is nobody's", create("/line", 0), "", ""},
		{"a plain one", create("/line/plain", zk.FlagEphemeral), "", "/plain"},
		{"a sequential one next to it: either may be the claim's", create("/line/n-", sequential), "", ""},
		{"the plain one is deleted", remove("/line/plain"), "", "/n-0000000001"},
		{"one in another folder", create("/n-", sequential), "", ""},
		{"below its own folder it is the only one", nothing, "/line", "/n-0000000001"},
		{"that one is deleted", remove("/n-0000000001"), "", "/n-0000000001"},
		{"a failed delete leaves it", func() error {
			_ = c.Delete(top+"/line/n-0000000001", 7)
			return nil
		}, "", "/n-0000000001"},
		{"it is deleted", remove("/line/n-0000000001"), "", ""},
		{"a transaction may have made another", func() error {
			_, err := c.Multi(&zk.SetDataRequest{Path: top + "/line", Version: -1})
			return err
		}, "", ""},
		{"the next is the newest, whatever that did", create("/line/m-", sequential), "", "/m-0000000002"},
		{"its delete may have come to nothing, the reply is lost", func() error {
			r.arm(wire.Rule{Op: wire.Delete, Nth: 1, Act: wire.DropReply})
			if err := c.Delete(top+"/line/m-0000000002", -1); err == nil {
				return errors.New("it has its reply")
			}
			return nil
		}, "", ""},
		{"the one after that is the newest", create("/line/m-", sequential), "", "/m-0000000003"},
		{"elsewhere there is none", nothing, "/li", ""},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		n, ok := r.client.Node(top + step.below)
		if ok != (step.want != "") || !strings.HasSuffix(n.Path, step.want) {
			t.Errorf("%s: got %+v, want %q", step.what, n, step.want)
		}
		if !ok {
			continue
		}
		_, stat, err := o.Exists(n.Path)
		must(t, err)
		if stat.Czxid != n.Czxid {
			t.Errorf("%s: czxid %d, want %d", step.what, n.Czxid, stat.Czxid)
		}
	}
	first := r.client.Session()
	r.client.SetGateClosed(true)
	r.client.Cut()
	must(t, first.CloseAt(t.Context(), r.addr))
	r.client.SetGateClosed(false)
	wire.Until(t, "there is a new session", func() bool { return r.client.Session().ID != first.ID })
	if n, ok := r.client.Node(top); ok {
		t.Errorf("the new session has the old one's node %+v", n)
	}
}

func TestListen_passesLargeFrames(t *testing.T) {
	r := newRig(t)
	c, o := r.outside(4*time.Second), r.other()
	big := bytes.Repeat([]byte("zkbench."), 1_000_000/8)
	path := root(t, o) + "/big"
	_, err := c.Create(path, big, 0, acl)
	must(t, err)
	for range 10 {
		got, _, err := c.Get(path)
		must(t, err)
		if !bytes.Equal(got, big) {
			t.Fatal("the data came back changed")
		}
	}
	if d := r.client.Counts(); d.BytesIn < 10_000_000 || d.ParseErrors != 0 {
		t.Errorf("%d bytes came in, %d parse errors", d.BytesIn, d.ParseErrors)
	}
}

func TestListen_aCutIsAResetAndAClosedGateRefuses(t *testing.T) {
	r := newRig(t)
	c := r.outside(4 * time.Second)
	r.client.SetGateClosed(true)
	if r.client.Cut() != 1 {
		t.Error("the client had no connection to cut")
	}
	near, err := net.Dial("tcp", r.listen(nil))
	if err == nil { // else the reset was faster than the dial
		_, err = near.Read(make([]byte, 1))
		near.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection to a closed gate: %v, want a reset", err)
	}
	wire.Until(t, "the client has noticed", func() bool { return c.State() != zk.StateHasSession })
	wire.Until(t, "it has tried", func() bool { return r.client.Counts().Refused > 1 })
	r.client.SetGateClosed(false)
	wire.Until(t, "the client is back", func() bool { return c.State() == zk.StateHasSession })
	if got := r.kinds(); got != "connected lost connected" {
		t.Errorf("events: %s", got)
	}
}

func TestListen_aHoldKeepsBytesBackAndForgetsWhoLeaves(t *testing.T) {
	r := newRig(t)
	must(t, r.client.Hold())
	left, stays := r.knock(), r.knock()
	for _, c := range []*net.TCPConn{left, stays} {
		_, err := io.WriteString(c, "ruok")
		must(t, err)
	}
	wire.Until(t, "both are kept back", func() bool { return r.client.Counts().Queued == 8 })
	must(t, left.Close())
	wire.Until(t, "what the one who left had sent is forgotten", func() bool { return r.client.Counts().Queued == 4 })
	r.client.EndHold()
	got, err := io.ReadAll(stays)
	if string(got) != "imok" || err != nil {
		t.Errorf("after the hold: %q, %v", got, err)
	}
	if n := r.client.Counts().ParseErrors; n != 3 { // of words both ways, and those of the one who left
		t.Errorf("%d parse errors, want 3", n)
	}
}

func TestListen_aClientThatSendsNoMoreHasLeft(t *testing.T) {
	r := newRig(t)
	near := r.knock()
	wire.Until(t, "it is connected", func() bool { return r.client.Counts().Connections == 1 })
	must(t, near.CloseWrite())
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
}

func TestListen_nothingIsLeftOfClientsThatDoNotRead(t *testing.T) {
	r := newRig(t)
	o := r.other()
	path := root(t, o) + "/big"
	_, err := o.Create(path, bytes.Repeat([]byte("x"), 1_000_000), 0, acl)
	must(t, err)
	c := r.knock()
	must(t, c.SetReadBuffer(4<<10))
	for range 1000 { // without reading
		if _, err := io.WriteString(c, "mntr"); err != nil {
			break
		}
	}
	r.tap.Close() // returns
	if _, err := r.client.Listen(r.addr, nil); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestListen_servesAThousandClients(t *testing.T) {
	r := newRig(t)
	const clients, members = 1000, 3
	host, port, _ := net.SplitHostPort(r.addr)
	var all errgroup.Group
	all.SetLimit(50)
	conns := make([]*zk.Conn, clients)
	for i := range clients {
		all.Go(func() (err error) {
			var addrs [members]string
			for k := range addrs { // one server under as many names
				if addrs[k], err = r.tap.Client(i).Listen(host+":"+strings.Repeat("0", k)+port, nil); err != nil {
					return err
				}
			}
			conns[i], _, err = zk.Connect(addrs[:], 4*time.Second, zk.WithLogger(quiet),
				zk.WithMaxBufferSize(4<<10), zk.WithMaxConnBufferSize(4<<10))
			if err == nil {
				answered := func() bool { _, _, err := conns[i].Exists("/"); return err == nil }
				wire.Until(t, "the client is answered", answered)
			}
			return err
		})
	}
	must(t, all.Wait())
	for i := range clients { // on a busy machine a ping may be abandoned, and asked for again
		if got := r.tap.Client(i).Counts(); got.Requests.Of(wire.Exists) == 0 || got.Replies == 0 || got.ParseErrors != 0 {
			t.Errorf("client %d: %v", i, got.Map())
		}
		all.Go(func() error { conns[i].Close(); return nil })
	}
	must(t, all.Wait())
}

// A client with renumbered names sees negative numbers, can use the names that it sees, and leaves real
// ones in the tree. What lies between a listener and the server holds for later connections.
func TestListen_renumbersForLaterConnections(t *testing.T) {
	r := newRig(t)
	plain, addr := r.outside(4*time.Second), r.listen(nil)
	if again := r.listen(wire.Renumber); again != addr {
		t.Errorf("the address was %s, and is %s", addr, again)
	}
	shifted := r.open(net.DialTimeout, addr, 4*time.Second)
	top := root(t, plain)
	first, err := plain.Create(top+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
	must(t, err)
	second, err := shifted.Create(top+"/n-", []byte("x"), zk.FlagEphemeral|zk.FlagSequence, acl)
	must(t, err)
	if first != top+"/n-0000000000" || !strings.HasSuffix(second, "/n--000099999") {
		t.Errorf("the clients see %s and %s", first, second)
	}
	for _, row := range []struct {
		c    *zk.Conn
		path string
	}{{shifted, second}, {plain, wire.RealPath(second)}} {
		if data, _, err := row.c.Get(row.path); err != nil || string(data) != "x" {
			t.Errorf("%s: %q, %v", row.path, data, err)
		}
	}
}
