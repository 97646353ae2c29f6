package wire_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
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
	client *wire.Client

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

func (r *rig) kinds() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var k []string
	for _, e := range r.events {
		k = append(k, e.Kind.String())
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

// other opens a session that is not tapped, to look at the truth with.
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

func (r *rig) fired(s *wire.Shot) wire.Proof {
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

func (r *rig) arm(rule wire.Rule) *wire.Shot {
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

func TestRealCounts(t *testing.T) {
	r := newRig(t)
	c, o := r.connect(4*time.Second), r.other()
	top := root(t, o)
	before := r.client.Counts()

	_, _, kids, err := c.ChildrenW(top)
	must(t, err)
	_, err = o.Create(top+"/a", nil, 0, acl)
	must(t, err)
	<-kids
	_, _, data, err := c.GetW(top + "/a")
	must(t, err)
	_, err = o.Set(top+"/a", []byte("x"), -1)
	must(t, err)
	<-data
	_, _, gone, err := c.ExistsW(top + "/a")
	must(t, err)
	must(t, o.Delete(top+"/a", -1))
	<-gone
	if err := c.Delete(top+"/a", -1); !errors.Is(err, zk.ErrNoNode) {
		t.Fatalf("deleting a node that is gone: %v", err)
	}
	wire.Until(t, "all is answered", func() bool { return r.client.Counts().InFlight == 0 })

	d := r.client.Counts().Sub(before)
	for what, n := range map[string][2]int64{
		"getChildren2": {d.Requests.Of(wire.GetChildren2), 1}, "getData": {d.Requests.Of(wire.GetData), 1},
		"exists": {d.Requests.Of(wire.Exists), 1}, "delete": {d.Requests.Of(wire.Delete), 1},
		"failed deletes": {d.Errors.Of(wire.Delete), 1}, "all errors": {d.Errors.Total(), 1},
		"all requests": {d.Requests.Total(), 4}, "child": {d.Notifications.Child, 1},
		"changed": {d.Notifications.Changed, 1}, "deleted": {d.Notifications.Deleted, 1},
		"created": {d.Notifications.Created, 0}, "unmatched": {d.Unmatched, 0}, "unreadable": {d.ParseErrors, 0},
		"replies": {d.Replies, 4 + d.Requests.Of(wire.Ping)},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: counted %d, want %d", what, n[0], n[1])
		}
	}
}

func TestRealSessionIsReadFromTheWire(t *testing.T) {
	r := newRig(t)
	c := r.connect(time.Minute) // clamped to 20 ticks of 200 ms
	s := r.client.Session()
	if s.ID != c.SessionID() || s.Timeout != 4*time.Second || s.Server != r.addr || len(s.Password) != 16 {
		t.Fatalf("session %+v, want id %x, timeout 4s, server %s", s, c.SessionID(), r.addr)
	}
	_, _, err := c.Exists("/")
	must(t, err)
	later := r.client.Session()
	if later.LastAckSent <= s.LastAckSent || later.Deadline() != later.LastAckSent+4*time.Second {
		t.Errorf("an answered request moved the last acknowledged one from %v to %v", s.LastAckSent, later.LastAckSent)
	}

	if n := r.client.Cut(); n != 1 {
		t.Errorf("cut %d connections, want 1", n)
	}
	wire.Until(t, "the session is back", func() bool { return strings.HasSuffix(r.kinds(), "lost connected") })
	wire.Until(t, "the client knows", func() bool { return c.State() == zk.StateHasSession })
	if again := r.client.Session(); again.ID != s.ID || again.Expired {
		t.Errorf("after a cut the session is %+v", again)
	}
	c.Close()
	wire.Until(t, "the close is acknowledged", func() bool { return r.client.Session().Closed })
	if got := r.kinds(); got != "connected lost connected closed" {
		t.Errorf("events: %s", got)
	}
	if !r.events[2].Resumed || r.events[0].Resumed || !errors.Is(r.events[1].Err, wire.ErrCut) {
		t.Errorf("events: %+v", r.events)
	}
}

func TestRealExpiryIsDeliveredAndItsConnectionClosed(t *testing.T) {
	r := newRig(t)
	c := r.connect(time.Second)
	first := r.client.Session()
	r.client.Gate(true)
	r.client.Cut()
	must(t, first.CloseAt(t.Context(), r.addr))
	r.client.Gate(false)
	wire.Until(t, "there is a new session", func() bool { id := r.client.Session().ID; return id != first.ID && id != 0 })
	if got := r.kinds(); !strings.HasPrefix(got, "connected lost") || !strings.HasSuffix(got, "expired connected") {
		t.Errorf("events: %s", got)
	}
	for _, e := range r.events {
		if e.Kind == wire.Expired && e.Session != first.ID {
			t.Errorf("session %x expired, want %x", e.Session, first.ID)
		}
	}
	if n := r.client.Cut(); n != 1 {
		t.Errorf("%d connections were open, want the one of the new session", n)
	}
	if n := r.client.Counts().Refused; n == 0 {
		t.Error("the gate refused no dial")
	}
	c.Close()
}

func TestRealHoldStallIsNoticed(t *testing.T) {
	r := newRig(t)
	c := r.connect(time.Second)
	must(t, r.client.Hold(wire.Stall))
	if err := r.client.Hold(wire.Stall); !errors.Is(err, wire.ErrHeld) {
		t.Errorf("a second hold: %v", err)
	}
	start := time.Now()
	wire.Until(t, "the client gives the connection up", func() bool { return c.State() != zk.StateHasSession })
	if d := time.Since(start); d < 300*time.Millisecond || d > 5*time.Second {
		t.Errorf("noticed after %v, want about 2/3 of 1 s", d)
	}
	r.client.Thaw()
	wire.Until(t, "it is connected again", func() bool { return c.State() == zk.StateHasSession })
}

func TestRealHoldDeafIsNotNoticedUntilTheSessionIsGone(t *testing.T) {
	r := newRig(t)
	c, o := r.connect(time.Second), r.other()
	top := root(t, o)
	_, err := c.Create(top+"/mine", nil, zk.FlagEphemeral, acl)
	must(t, err)
	must(t, r.client.Hold(wire.Deaf))
	before := r.client.Counts()
	wire.Until(t, "the session expires", func() bool { ok, _, err := o.Exists(top + "/mine"); return err == nil && !ok })
	if got := r.kinds(); c.State() != zk.StateHasSession || got != "connected" {
		t.Errorf("the deaf client is in state %v, events: %s", c.State(), got)
	}
	d := r.client.Counts().Sub(before)
	if d.FramesIn != 0 || d.Requests.Of(wire.Ping) == 0 || d.Queued == 0 {
		t.Errorf("in the hold: %v", d.Map())
	}
	r.client.Thaw()
	wire.Until(t, "it learns of the expiry", func() bool { return strings.Contains(r.kinds(), "expired") })
}

func TestRealDeafHoldDeliversAllInOrder(t *testing.T) {
	r := newRig(t)
	c, o := r.connect(4*time.Second), r.other()
	top := root(t, o)
	must(t, r.client.Hold(wire.Deaf))
	var wg sync.WaitGroup
	const n = 20
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { _, errs[i] = c.Create(fmt.Sprintf("%s/%d", top, i), nil, 0, acl) })
	}
	wire.Until(t, "all are queued", func() bool { return r.client.Counts().InFlight >= n })
	kids, _, err := o.Children(top)
	must(t, err)
	if len(kids) != 0 {
		t.Errorf("in the hold %d requests reached the server", len(kids))
	}
	r.client.Thaw()
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		t.Errorf("create %d: %v", i, errs[i])
	}
	if got := r.kinds(); got != "connected" {
		t.Errorf("events: %s", got)
	}
}

// A recipe's step, hit 100 times of 100, with the truth looked up by another session.
func TestRealAimedDropReplyHitsItsStep(t *testing.T) {
	r := newRig(t)
	c, o := r.connect(4*time.Second), r.other()
	for i := range 100 {
		top := root(t, o)
		shot := r.arm(wire.Rule{Op: wire.Create, Path: top + "/*", Nth: 2, Act: wire.DropReply})
		_, err := c.Create(top+"/first", nil, 0, acl)
		must(t, err)
		if _, err = c.Create(top+"/second", nil, 0, acl); err == nil {
			t.Fatalf("round %d: the reply came through", i)
		}
		p := r.fired(shot)
		if !p.Committed() || p.Path != top+"/second" || p.Op != wire.Create || p.Err != nil {
			t.Fatalf("round %d: %v", i, p)
		}
		_, stat, err := o.Get(top + "/second")
		must(t, err)
		if stat.Czxid != p.Zxid {
			t.Fatalf("round %d: the proof says zxid %x, the node %x", i, p.Zxid, stat.Czxid)
		}
		r.reconnected(c)
	}
	if n := r.client.Counts(); n.Abandoned < 100 || n.ParseErrors != 0 {
		t.Errorf("after 100 rounds: %v", n.Map())
	}
}

func TestRealActs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rule   wire.Rule
		exists string // whether the server has the node: "yes", "no", "maybe"
		cut    bool
	}{
		{"a dropped request never reaches the server", wire.Rule{Act: wire.DropRequest}, "no", true},
		{"a cut before the request keeps it from the server", wire.Rule{Act: wire.CutBefore}, "no", true},
		{"a cut after the request leaves it open what the server did", wire.Rule{Act: wire.CutAfter}, "maybe", true},
		{"a dropped reply hides a request that was carried out", wire.Rule{Act: wire.DropReply}, "yes", true},
		{"a delayed request arrives all the same", wire.Rule{Act: wire.Delay, Delay: 20 * time.Millisecond,
			Jitter: 10 * time.Millisecond, Random: func(n int) int { return n / 2 }}, "yes", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			c, o := r.connect(4*time.Second), r.other()
			for i := range 20 {
				top := root(t, o)
				tt.rule.Op, tt.rule.Path = wire.Create, top+"/**"
				shot := r.arm(tt.rule)
				_, err := c.Create(top+"/x", nil, 0, acl)
				if (err != nil) != tt.cut {
					t.Fatalf("round %d: create returned %v", i, err)
				}
				if p := r.fired(shot); p.Err != nil || p.Path != top+"/x" || p.Done < p.Matched {
					t.Fatalf("round %d: %v", i, p)
				}
				r.reconnected(c)
				ok, _, err := o.Exists(top + "/x")
				must(t, err)
				if tt.exists == "yes" && !ok || tt.exists == "no" && ok {
					t.Fatalf("round %d: the node exists: %v, want %s", i, ok, tt.exists)
				}
			}
			if n := r.client.Counts(); tt.cut != (n.Connections == 21) || n.ParseErrors != 0 || n.Unmatched != 0 {
				t.Errorf("after 20 rounds: %v", n.Map())
			}
		})
	}
}

func TestRealKeptDropReplyLeavesTheStreamAligned(t *testing.T) {
	r := newRig(t)
	c, o := r.connect(4*time.Second), r.other()
	top := root(t, o)
	_, err := o.Create(top+"/big", make([]byte, 100_000), 0, acl)
	must(t, err)
	shot := r.arm(wire.Rule{Op: wire.GetData, Path: top + "/big", Act: wire.DropReply, Keep: true})
	lost := make(chan error, 1)
	go func() { _, _, err := c.Get(top + "/big"); lost <- err }()
	p := r.fired(shot)
	if !p.Replied || p.Code != 0 {
		t.Fatalf("proof: %v", p)
	}
	for range 50 {
		if b, _, err := c.Get(top + "/big"); err != nil || len(b) != 100_000 {
			t.Fatalf("after the swallowed reply: %d bytes, %v", len(b), err)
		}
	}
	select {
	case err := <-lost:
		t.Errorf("the swallowed request returned %v", err)
	default:
	}
	if got := r.kinds(); got != "connected" {
		t.Errorf("events: %s", got)
	}
	c.Close()
	<-lost
}

func TestRealHeldRequestWaitsForItsRelease(t *testing.T) {
	r := newRig(t)
	c, o := r.connect(4*time.Second), r.other()
	top := root(t, o)
	shot := r.arm(wire.Rule{Op: wire.Create, Path: top + "/a", Act: wire.HoldRequest})
	made := make(chan error, 1)
	go func() { _, err := c.Create(top+"/a", nil, 0, acl); made <- err }()
	r.fired(shot)
	ok, _, err := o.Exists(top + "/a")
	must(t, err)
	if ok {
		t.Error("a held request reached the server")
	}
	_, err = o.Create(top+"/b", nil, 0, acl) // another client gets in between
	must(t, err)
	shot.Release()
	must(t, <-made)
	_, a, err := o.Get(top + "/a")
	must(t, err)
	_, b, err := o.Get(top + "/b")
	must(t, err)
	if a.Czxid < b.Czxid {
		t.Errorf("the held create has zxid %x, the one in between %x", a.Czxid, b.Czxid)
	}
	if n := r.client.Counts(); n.Queued != 0 || n.Connections != 1 {
		t.Errorf("afterwards: %v", n.Map())
	}
}

func TestRealFourLetterWordsPassThrough(t *testing.T) {
	r := newRig(t)
	conn, err := r.client.Dial("tcp", r.addr, time.Second)
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "ruok")
	must(t, err)
	out, err := io.ReadAll(conn)
	must(t, err)
	if string(out) != "imok" || r.client.Counts().ParseErrors != 2 {
		t.Errorf("answered %q; %v", out, r.client.Counts().Map())
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
