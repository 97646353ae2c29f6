package wire_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestReal_actsHitTheirStep(t *testing.T) {
	for _, row := range []struct {
		name      string
		act       wire.Act
		committed bool
		rounds    int
		open      func(*rig, time.Duration) *zk.Conn
	}{
		{"a dropped request never reaches the server", wire.DropRequest, false, 20, (*rig).connect},
		{"a cut before the request keeps it from the server", wire.CutBefore, false, 20, (*rig).connect},
		{"a dropped reply hides a request that was carried out", wire.DropReply, true, 100, (*rig).connect},
		{"a dropped reply of a client behind a listener", wire.DropReply, true, 20, (*rig).outside},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t)
			c, o := row.open(r, 4*time.Second), r.other()
			for i := range row.rounds {
				top := root(t, o)
				shot := r.arm(wire.Rule{Op: wire.Create, Path: top + "/*", Nth: 2, Act: row.act})
				_, err := c.Create(top+"/first", nil, 0, acl)
				must(t, err)
				if _, err = c.Create(top+"/second", nil, 0, acl); err == nil {
					t.Fatalf("round %d: the reply came through", i)
				}
				p := r.fired(shot)
				if p.Committed() != row.committed || p.Path != top+"/second" || p.Op != wire.Create ||
					p.Err != nil || p.Done < p.Matched {
					t.Fatalf("round %d: %v", i, p)
				}
				r.reconnected(c)
				exists, stat, err := o.Exists(top + "/second")
				must(t, err)
				if exists != row.committed || exists && stat.Czxid != p.Zxid {
					t.Fatalf("round %d: the proof is %v; the node exists: %v, with zxid %x", i, p, exists, stat.Czxid)
				}
			}
			n := r.client.Counts()
			if int(n.Connections) != row.rounds+1 || int(n.Abandoned) < row.rounds ||
				n.ParseErrors != 0 || n.Unmatched != 0 {
				t.Errorf("at the end: %v", n.Map())
			}
		})
	}
}

func TestReal_keptDropReplyLeavesTheStreamAligned(t *testing.T) {
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

func TestReal_heldRequestWaitsForItsRelease(t *testing.T) {
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
