package wire_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestReal_countsASession(t *testing.T) {
	for _, open := range []func(*rig, time.Duration) *zk.Conn{(*rig).connect, (*rig).outside} {
		r := newRig(t)
		c := open(r, 4*time.Second)
		sendAllKindsOfRequests(t, c)
		id := c.SessionID()
		c.Close()
		wire.Until(t, "the close is answered", func() bool { return r.client.Session().Closed })
		n := r.client.Counts()
		sent := n.Requests.Of
		for what, got := range map[string][2]int64{
			"create": {sent(wire.Create), 1}, "exists": {sent(wire.Exists), 2}, "getData": {sent(wire.GetData), 1},
			"getChildren2": {sent(wire.GetChildren2), 1}, "setData": {sent(wire.SetData), 2},
			"delete": {sent(wire.Delete), 2}, "sync": {sent(wire.Sync), 1}, "multi": {sent(wire.Multi), 1},
			"auth": {sent(wire.Auth), 1}, "closeSession": {sent(wire.CloseSession), 1}, "all": {n.Requests.Total(), 13},
			"failed exists": {n.Errors.Of(wire.Exists), 1}, "failed sets": {n.Errors.Of(wire.SetData), 1},
			"failed": {n.Errors.Total(), 2}, "unmatched": {n.Unmatched, 0}, "unreadable": {n.ParseErrors, 0},
			"created": {n.Notifications.Created, 1}, "child": {n.Notifications.Child, 1},
			"changed": {n.Notifications.Changed, 1}, "deleted": {n.Notifications.Deleted, 1},
			"in flight": {n.InFlight, 0}, "abandoned": {n.Abandoned, 0}, "replies": {n.Replies, 13 + sent(wire.Ping)},
			"frames out": {n.FramesOut, 14 + sent(wire.Ping)}, "frames in": {n.FramesIn, 18 + sent(wire.Ping)},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %d, want %d", what, got[0], got[1])
			}
		}
		s := r.client.Session()
		if s.ID != id || s.Timeout != 4*time.Second || s.Server != "" || len(s.Password) != 16 {
			t.Errorf("session %+v, want id %x", s, id)
		}
		if got := r.kinds(); got != "connected closed" {
			t.Errorf("events: %s", got)
		}
	}
}

// sendAllKindsOfRequests also causes notifications of all kinds.
func sendAllKindsOfRequests(t *testing.T, c *zk.Conn) {
	t.Helper()
	_, err := c.Create("/counted", []byte("v"), 0, acl)
	must(t, err)
	_, _, created, err := c.ExistsW("/counted/kid")
	must(t, err)
	_, _, child, err := c.ChildrenW("/counted")
	must(t, err)
	_, err = c.Multi(&zk.CreateRequest{Path: "/counted/kid", Acl: acl}, &zk.CheckVersionRequest{Path: "/counted"})
	must(t, err)
	<-created
	<-child
	_, _, changed, err := c.GetW("/counted/kid")
	must(t, err)
	_, err = c.Set("/counted/kid", []byte("w"), 0)
	must(t, err)
	<-changed
	_, _, deleted, err := c.ExistsW("/counted/kid")
	must(t, err)
	if _, err := c.Set("/counted/kid", nil, 0); !errors.Is(err, zk.ErrBadVersion) {
		t.Fatalf("a set with an old version: %v", err)
	}
	must(t, c.Delete("/counted/kid", -1))
	<-deleted
	_, err = c.Sync("/counted")
	must(t, err)
	must(t, c.AddAuth("digest", []byte("a:b")))
	must(t, c.Delete("/counted", -1))
}

func TestReal_sessionIsReadFromTheWire(t *testing.T) {
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
	if lost := r.events[2].Lost; lost < r.events[0].At || lost > r.events[1].At || lost == 0 {
		t.Errorf("the session came back from a connection that ended at %v, want shortly before %v", lost, r.events[1].At)
	}
	if !r.events[2].Resumed || r.events[0].Resumed || !errors.Is(r.events[1].Err, wire.ErrCut) {
		t.Errorf("events: %+v", r.events)
	}
}

func TestReal_expiryIsDeliveredAndItsConnectionClosed(t *testing.T) {
	r := newRig(t)
	c := r.connect(time.Second)
	first := r.client.Session()
	r.client.SetGateClosed(true)
	r.client.Cut()
	must(t, first.CloseAt(t.Context(), r.addr))
	wire.Until(t, "the gate refuses a dial", func() bool { return r.client.Counts().Refused > 0 })
	r.client.SetGateClosed(false)
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
	c.Close()
}

func TestReal_deafHoldIsNotNoticedUntilTheSessionIsGone(t *testing.T) {
	r := newRig(t)
	c, o := r.connect(time.Second), r.other()
	top := root(t, o)
	_, err := c.Create(top+"/mine", nil, zk.FlagEphemeral, acl)
	must(t, err)
	must(t, r.client.Hold())
	before := r.client.Counts()
	wire.Until(t, "the session expires", func() bool { ok, _, err := o.Exists(top + "/mine"); return err == nil && !ok })
	if got := r.kinds(); c.State() != zk.StateHasSession || got != "connected" {
		t.Errorf("the deaf client is in state %v, events: %s", c.State(), got)
	}
	d := r.client.Counts().Sub(before)
	if d.FramesIn != 0 || d.Requests.Of(wire.Ping) == 0 || d.Queued == 0 {
		t.Errorf("in the hold: %v", d.Map())
	}
	r.client.EndHold()
	wire.Until(t, "it learns of the expiry", func() bool { return strings.Contains(r.kinds(), "expired") })
}

func TestReal_deafHoldDeliversAllInOrder(t *testing.T) {
	r := newRig(t)
	c, o := r.connect(4*time.Second), r.other()
	top := root(t, o)
	must(t, r.client.Hold())
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
	r.client.EndHold()
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		t.Errorf("create %d: %v", i, errs[i])
	}
	if got := r.kinds(); got != "connected" {
		t.Errorf("events: %s", got)
	}
}
