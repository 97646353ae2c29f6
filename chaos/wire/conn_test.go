package wire

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"testing/iotest"
	"time"
)

func TestConn_countsRepliesAndAbandonedRequests(t *testing.T) {
	b := openBench(t)
	b.write(ask(1, Create, "/a"), ask(-4, Auth, ""), ask(2, Create, "/b"), ask(-2, Ping, ""))
	b.write(ask(3, Delete, "/c"), ask(4, Delete, "/d"))
	b.read(answer(-4, 0, 0, ""), answer(1, 1, 0, ""), answer(99, 1, 0, ""), answer(3, 1, -101, ""))
	if n := b.c.Unanswered(); n != 2 {
		t.Errorf("%d requests are unanswered, want 2: a ping is none", n)
	}
	b.read(answer(-2, 1, 0, ""))
	if n := b.c.Counts(); n.InFlight != 2 || n.Replies != 5 || n.Unmatched != 1 ||
		n.Errors.Of(Delete) != 1 || n.Errors.Total() != 1 {
		t.Errorf("with two requests open: %v", n.Map())
	}
	b.check(b.conn.Close())
	if n := b.c.Counts(); n.InFlight != 0 || n.Abandoned != 2 {
		t.Errorf("after the close: %v", n.Map())
	}
	if err := b.conn.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second close: %v", err)
	}
}

func TestSession_lastAckSentIsASendTime(t *testing.T) {
	b := newBench(t)
	b.write(hello(0)) // at 1 s
	b.read(welcome(5, 4*time.Second))
	if got := b.c.Session().LastAckSent; got != 1*time.Second {
		t.Errorf("after the handshake: %v", got)
	}
	mark := b.ticks
	b.write(ask(1, Exists, "/"), ask(-2, Ping, "")) // one second apart
	if got := b.c.Session().LastAckSent; got != 1*time.Second {
		t.Errorf("sent, and not yet answered: %v", got)
	}
	b.read(answer(-2, 0, 0, ""))
	b.read(answer(1, 0, 0, "")) // was sent earlier: must not set the clock back
	s := b.c.Session()
	if want := mark + 2*time.Second; s.LastAckSent != want || s.Deadline() != want+4*time.Second {
		t.Errorf("after both answers: %v, want %v", s.LastAckSent, want)
	}
}

func TestConn_deliversAnExpiryWholeAndCloses(t *testing.T) {
	for _, row := range []struct{ held, byBytes bool }{{false, false}, {true, false}, {false, true}} {
		b := openBench(t)
		b.c.Cut()
		b.redial()
		b.far.live = true
		var client io.Reader = b.conn
		if row.byBytes {
			b.arm(never)
			client = iotest.OneByteReader(b.conn)
		}
		b.write(hello(5))
		if row.held {
			b.check(b.c.Hold())
		}
		sorry := welcome(0, 0)
		b.far.feed(sorry)
		done := make(chan error, 1)
		go func() { _, err := io.ReadFull(client, make([]byte, len(sorry))); done <- err }()
		if row.held {
			b.c.EndHold()
		}
		b.check(<-done)
		Until(b.tb, "the connection is closed", b.far.isClosed)
		s := b.c.Session()
		if !s.Expired || s.ID != 5 || s.Server != "" {
			t.Errorf("%+v: session %+v", row, s)
		}
		last := b.events[len(b.events)-1]
		if last.Kind != Expired || last.Session != 5 || len(b.events) != 3 {
			t.Errorf("%+v: events %+v", row, b.events)
		}
	}
}

func TestConn_thatIsOldSaysNothingAboutTheSession(t *testing.T) {
	b := openBench(t)
	old, far := b.conn, b.far
	b.redial()
	b.write(hello(5))
	b.read(welcome(5, 4*time.Second))
	_, err := old.Write(ask(1, Exists, "/"))
	b.check(err)
	before := b.c.Session()
	reply := answer(1, 1, 0, "")
	far.feed(reply)
	_, err = io.ReadFull(old, make([]byte, len(reply)))
	b.check(err)
	b.check(old.Close())
	if after := b.c.Session(); after.LastAckSent != before.LastAckSent || after.Server == "" {
		t.Errorf("session %+v", after)
	}
	if len(b.events) != 2 || b.events[0].Resumed || !b.events[1].Resumed || b.events[1].Lost != 0 {
		t.Errorf("events: %+v", b.events)
	}
}

// A session that changes its connection while that is up was not away.
func TestConn_thatTakesOverWasNotAway(t *testing.T) {
	b := openBench(t)
	b.check(b.conn.Close())
	for range 2 {
		b.redial()
		b.write(hello(5))
		b.read(welcome(5, 4*time.Second))
	}
	if len(b.events) != 4 || b.events[2].Lost == 0 || b.events[3].Lost != 0 {
		t.Errorf("events: %+v", b.events)
	}
}

func TestConn_endsOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(b *bench)
		why  error
	}{
		{"the server closes", func(b *bench) { _, _ = b.conn.Read(make([]byte, 9)) }, io.EOF},
		{"the client closes", func(b *bench) { _ = b.conn.Close() }, net.ErrClosed},
		{"the tap cuts", func(b *bench) { b.c.Cut() }, ErrCut},
		{"a write fails", func(b *bench) { _ = b.far.Close(); _, _ = b.conn.Write(ask(1, Exists, "/")) }, net.ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := openBench(t)
			tt.end(b)
			b.c.Cut()
			_ = b.conn.Close()
			if len(b.events) != 2 || b.events[1].Kind != Lost || !errors.Is(b.events[1].Err, tt.why) || b.events[1].Session != 5 {
				t.Errorf("events: %+v", b.events)
			}
			if !b.far.isClosed() || b.c.Session().Server != "" {
				t.Error("the connection is still there")
			}
		})
	}
}

func TestTap_OnEvent_mayCallTheTap(t *testing.T) {
	b := newBench(t)
	var kinds []EventKind
	b.tap.OnEvent(func(e Event) {
		if e.Kind == Connected {
			b.c.Cut()
			_ = b.tap.Totals()
		}
		kinds = append(kinds, e.Kind) // so a nested call would come first
	})
	b.write(hello(0))
	b.far.feed(welcome(5, time.Second))
	_, _ = b.conn.Read(make([]byte, 100))
	if len(kinds) != 2 || kinds[0] != Connected || kinds[1] != Lost {
		t.Errorf("events: %v", kinds)
	}
}

func TestClient_Gate_refusesDials(t *testing.T) {
	b := newBench(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	b.check(err)
	defer l.Close()
	c := b.tap.Client(3)
	for _, step := range []struct {
		what   string
		do     func()
		client int
		want   error
	}{
		{"through a closed gate", func() { c.SetGateClosed(true) }, 3, ErrGate},
		{"through an open gate", func() { c.SetGateClosed(false) }, 3, nil},
		{"after the end", b.tap.Close, 3, ErrClosed},
		{"a new client after the end", func() {}, 4, ErrClosed},
	} {
		step.do()
		conn, err := b.tap.Client(step.client).Dial("tcp", l.Addr().String(), time.Second)
		if !errors.Is(err, step.want) {
			t.Errorf("%s: %v", step.what, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	if n := c.Counts(); n.Dials != 3 || n.Refused != 2 || n.Connections != 1 {
		t.Errorf("counted %v", n.Map())
	}
}

func TestClient_Gate_refusesADialInProgress(t *testing.T) {
	b, far := newBench(t), newTape()
	b.c.SetGateClosed(true)
	if _, err := b.c.adopt(far, "far"); !errors.Is(err, ErrGate) || !far.isClosed() {
		t.Errorf("a connection that was made meanwhile: %v", err)
	}
}

func TestTap_sumsItsClients(t *testing.T) {
	tap := New(func() time.Duration { return 0 })
	for _, n := range []int{2, 0, 1, 2} {
		tap.client(n).count(func(c *Counts) { c.BytesIn += int64(n) })
	}
	all := tap.all()
	if len(all) != 3 || all[0].Number() != 0 || all[2].Number() != 2 {
		t.Errorf("%d clients", len(all))
	}
	if got := tap.Totals().BytesIn; got != 5 {
		t.Errorf("total %d, want 5", got)
	}
}

func TestConn_namesTheRequestsWhoseRepliesAreLost(t *testing.T) {
	for _, row := range []struct {
		about string
		rule  *Rule
		want  []int32
	}{
		{"all that change something and are open at its end", nil, []int32{2, 3, 5}},
		{"one whose reply is dropped, and what is behind it", &Rule{Op: Delete, Act: DropReply}, []int32{3, 5}},
		{"one whose reply is dropped on a connection that stays, and what is open later",
			&Rule{Op: Delete, Act: DropReply, Keep: true}, []int32{3, 5}},
	} {
		t.Run(row.about, func(t *testing.T) {
			b := openBench(t)
			if row.rule != nil {
				b.arm(*row.rule)
			}
			b.write(ask(1, Create, "/a"), ask(2, Create, "/b"), ask(3, Delete, "/c"), ask(4, Exists, "/d"))
			_, _ = b.conn.Write(ask(5, Multi, "")) // cut by one of the rules
			b.far.feed(answer(1, 1, 0, ""))
			if row.rule != nil {
				b.far.feed(answer(2, 2, 0, ""), answer(3, 3, 0, ""), answer(4, 3, 0, ""))
			}
			_, _ = b.readAll()
			b.tap.Close()
			var got []int32
			for _, e := range b.events {
				if e.Kind == ReplyLost && e.Session == 5 {
					got = append(got, e.Request.Xid)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("requests %v, want %v", got, row.want)
			}
		})
	}
}
