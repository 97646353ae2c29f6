package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

// listen returns the address at which the client's listener stands for the server.
func (r *rig) listen() string {
	r.t.Helper()
	addr, err := r.client.Listen(r.addr, nil)
	must(r.t, err)
	return addr
}

// outside opens a session as another process does: it knows nothing but an address.
func (r *rig) outside(timeout time.Duration) *zk.Conn {
	r.t.Helper()
	addr := r.listen()
	c, _, err := zk.Connect([]string{addr, addr}, timeout, zk.WithLogger(quiet), zk.WithMaxBufferSize(2<<20), zk.WithMaxConnBufferSize(2<<20))
	must(r.t, err)
	r.t.Cleanup(c.Close)
	wire.Until(r.t, "the session is up", func() bool { return c.State() == zk.StateHasSession })
	return c
}

// knock connects to the listener, without a session.
func (r *rig) knock() *net.TCPConn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.listen())
	must(r.t, err)
	r.t.Cleanup(func() { c.Close() })
	must(r.t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	return c.(*net.TCPConn)
}

func TestListen_countsAndKnowsWhatDialDoes(t *testing.T) {
	r := newRig(t)
	if again := r.listen(); again != r.listen() {
		t.Error("a second call gave another address")
	}
	c, o := r.outside(time.Minute), r.other()
	top := root(t, o)
	before := r.client.Counts()
	mine, err := c.Create(top+"/mine-", []byte("x"), zk.FlagEphemeral|zk.FlagSequence, acl)
	must(t, err)
	_, _, gone, err := c.ExistsW(mine)
	must(t, err)
	if _, err := c.Create(mine, nil, 0, acl); !errors.Is(err, zk.ErrNodeExists) {
		t.Errorf("a second create: %v", err)
	}
	must(t, o.Delete(mine, -1))
	<-gone
	d := r.client.Counts().Sub(before)
	if d.Requests.Of(wire.Create) != 2 || d.Errors.Of(wire.Create) != 1 || d.Notifications.Deleted != 1 || d.ParseErrors != 0 {
		t.Errorf("counted %+v", d)
	}
	if s := r.client.Session(); s.ID != c.SessionID() || s.Server != r.addr || s.Timeout != 4*time.Second {
		t.Errorf("session %+v, want id %x at %s", s, c.SessionID(), r.addr)
	}
}

func TestNode_isTheNewestOfTheSession(t *testing.T) {
	r := newRig(t)
	c, o := r.outside(4*time.Second), r.other()
	top := root(t, o)
	for _, step := range []struct {
		what  string
		do    func() (string, error)
		below string
		want  string // the end of the node's path; "" for none
	}{
		{"nothing is made", func() (string, error) { return "", nil }, top, ""},
		{"a persistent node is nobody's", func() (string, error) { return c.Create(top+"/line", nil, 0, acl) }, top, ""},
		{"a plain one", func() (string, error) { return c.Create(top+"/line/plain", []byte("data"), zk.FlagEphemeral, acl) }, top, "/plain"},
		{"a sequential one beside it: either may be the claim's", func() (string, error) {
			return c.Create(top+"/line/n-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
		}, top, ""},
		{"the plain one is deleted", func() (string, error) { return "", c.Delete(top+"/line/plain", -1) }, top, "/n-0000000001"},
		{"one in another folder", func() (string, error) { return c.Create(top+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence, acl) }, top, ""},
		{"below its own folder it is the only one", func() (string, error) { return "", nil }, top + "/line", "/n-0000000001"},
		{"that one is deleted", func() (string, error) { return "", c.Delete(top+"/n-0000000001", -1) }, top, "/n-0000000001"},
		{"a failed delete leaves it", func() (string, error) { _ = c.Delete(top+"/line/n-0000000001", 7); return "", nil }, top, "/n-0000000001"},
		{"it is deleted", func() (string, error) { return "", c.Delete(top+"/line/n-0000000001", -1) }, top, ""},
		{"a transaction may have made another", func() (string, error) {
			_, err := c.Multi(&zk.SetDataRequest{Path: top + "/line", Version: -1})
			return "", err
		}, top, ""},
		{"the next is the newest, whatever that did", func() (string, error) {
			return c.Create(top+"/line/m-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
		}, top, "/m-0000000002"},
		{"its delete may have come to nothing, the reply is lost", func() (string, error) {
			if _, err := r.client.Arm(wire.Rule{Op: wire.Delete, Nth: 1, Act: wire.DropReply}); err != nil {
				return "", err
			}
			if err := c.Delete(top+"/line/m-0000000002", -1); err == nil {
				return "", errors.New("it has its reply")
			}
			return "", nil
		}, top, ""},
		{"the one after that is the newest", func() (string, error) {
			return c.Create(top+"/line/m-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
		}, top, "/m-0000000003"},
		{"elsewhere there is none", func() (string, error) { return "", nil }, top + "/li", ""},
	} {
		if _, err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		n, ok := r.client.Node(step.below)
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
	near, err := net.Dial("tcp", r.listen())
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

func TestListen_aRuleHitsWhatItIsAimedAt(t *testing.T) {
	r := newRig(t)
	c, o := r.outside(4*time.Second), r.other()
	top := root(t, o)
	shot := r.arm(wire.Rule{Op: wire.Create, Act: wire.DropReply})
	if _, err := c.Create(top+"/lost", nil, 0, acl); err == nil {
		t.Error("the reply was swallowed, and the create returned nil")
	}
	if p := r.fired(shot); !p.Replied || p.Code != 0 {
		t.Errorf("proof %+v", p)
	}
	if ok, _, err := o.Exists(top + "/lost"); !ok || err != nil {
		t.Errorf("the create was not carried out: %v", err)
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
	var all sync.WaitGroup
	atOnce := make(chan struct{}, 50)
	conns := make([]*zk.Conn, clients)
	for i := range clients {
		all.Go(func() {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			var addrs []string
			for k := range members { // one server under as many names
				addr, err := r.tap.Client(i).Listen(host+":"+strings.Repeat("0", k)+port, nil)
				if err != nil {
					t.Error(err)
					return
				}
				addrs = append(addrs, addr)
			}
			c, _, err := zk.Connect(addrs, 4*time.Second, zk.WithLogger(quiet), zk.WithMaxBufferSize(4<<10), zk.WithMaxConnBufferSize(4<<10))
			if err != nil {
				t.Error(err)
				return
			}
			conns[i] = c
			wire.Until(t, "the client is answered", func() bool { _, _, err := c.Exists("/"); return err == nil })
		})
	}
	all.Wait()
	for i := range clients { // on a busy machine a ping may be abandoned, and asked for again
		if got := r.tap.Client(i).Counts(); got.Requests.Of(wire.Exists) == 0 || got.Replies == 0 || got.ParseErrors != 0 {
			t.Errorf("client %d: counted %d requests, %d replies, %d errors of parsing", i, got.Requests.Of(wire.Exists), got.Replies, got.ParseErrors)
		}
	}
	for _, c := range conns {
		if c != nil {
			all.Go(c.Close)
		}
	}
	all.Wait()
}

func TestListen_whatLiesBetweenHoldsForLaterConnections(t *testing.T) {
	r := newRig(t)
	top := root(t, r.other())
	made := func() string {
		c := r.outside(4 * time.Second)
		defer c.Close()
		path, err := c.Create(top+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
		must(t, err)
		return strings.TrimPrefix(path, top)
	}
	if got := made(); got != "/n-0000000000" {
		t.Errorf("with nothing between: %s", got)
	}
	addr := r.listen()
	again, err := r.client.Listen(r.addr, wire.Renumber)
	must(t, err)
	if again != addr {
		t.Errorf("the address was %s, and is %s", addr, again)
	}
	c, _, err := zk.Connect([]string{addr, addr}, 4*time.Second, zk.WithLogger(quiet))
	must(t, err)
	t.Cleanup(c.Close)
	path, err := c.Create(top+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
	must(t, err)
	if want := "/n--000099999"; !strings.HasSuffix(path, want) {
		t.Errorf("renumbered: %s, want %s", path, want)
	}
}
