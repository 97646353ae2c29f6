package wire_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestReal_dropReplyHitsItsStep(t *testing.T) {
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

func TestReal_actsDoWhatTheySay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rule   wire.Rule
		exists string // whether the server has the node: "yes", "no", "maybe"
		cut    bool
	}{
		{"a dropped request never reaches the server", wire.Rule{Act: wire.DropRequest}, "no", true},
		{"a cut before the request keeps it from the server", wire.Rule{Act: wire.CutBefore}, "no", true},
		{"a dropped reply hides a request that was carried out", wire.Rule{Act: wire.DropReply}, "yes", true},
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
