package wire_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestReal_countsWhatAClientDoes(t *testing.T) {
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

func TestReal_fourLetterWordsPassThrough(t *testing.T) {
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
